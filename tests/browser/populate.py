"""Fills an installation with data for every page, by the real command line and a real worker."""

import asyncio
import json
from pathlib import Path
from typing import Final

from services.questions.edits import answer
from stages.queries.templates import TemplateTag, default_template
from store.database import Database
from tests.acceptance.harness import BROKEN, Installation
from tests.acceptance.shelf import QUESTION, write_shelf
from tests.acceptance.small_data_set import evidence_of, small_files, write_files
from tests.acceptance.test_reports import draw_scores
from tests.acceptance.wardrobe import write_wardrobe
from tests.scripted_ollama import ACCEPT, REJECT, ScriptedOllama, ScriptedReply

EXPANSION: Final = {
    "queries": ["oxidation of catechins in tea leaves", "why tea leaves go brown"],
    "hyde_answer": "Enzymes in the bruised leaf join oxygen to the catechins and turn them into darker molecules.",
    "intent": "MECHANISM",
    "entities": ["black tea", "catechins"],
}
PRESET: Final = "Short works"
VALUES: Final = (
    *("retrieval.min_word_count=0", "retrieval.min_char_count=0"),
    *("consolidation.min_content_length=0", "expansion.n=2"),
)
ANSWER: Final = """\
## Oxidation

Black tea is dark because the **catechins** of its leaves are joined with oxygen after picking [S1]:

1. Rolling bruises the leaf, so that its enzymes meet the air.
2. Catechins become larger, darker molecules; the leaf goes from green to copper to brown.
3. Heat ends this work, which is why green tea, heated at once, stays green [S1].

Longer steeping draws more tannin [S2]. Nothing is said about milk [S9].
"""


POTS: Final = """\
<!DOCTYPE html><html><head><title>About pots</title></head><body>
<h1>About pots</h1><p>A pot of clay keeps the water warm for an hour, and one of iron for two.</p>
<h4>Care</h4><p>A pot is rinsed and never washed, so that it keeps the taste of the leaves.</p>
<h2>Index</h2><p>clay, iron, taste, water</p></body></html>
"""


WRITER, JUDGE, BABBLER, SCORER = (f"site:{name}" for name in ("writer", "judge", "babbler", "scorer"))


def add_models(ollama: ScriptedOllama) -> None:
    """Give a server the models that fill the site and that its tests use later."""
    ollama.model(lambda prompt: ScriptedReply(ANSWER if "Source:" in prompt else json.dumps(EXPANSION)), WRITER)
    ollama.model(lambda prompt: ScriptedReply(ACCEPT if "leaf" in prompt or "tea" in prompt else REJECT), JUDGE)
    ollama.model(lambda prompt: ScriptedReply("I would rather talk about the weather."), BABBLER)
    ollama.model(draw_scores, SCORER)


def populate(installation: Installation, folder: Path) -> None:
    """Fill an empty installation: works, participants, phrases, and runs of every kind in every state."""
    worker = installation.start_worker()
    _fill(installation, folder)
    _ask(installation, folder)
    _score(installation, folder)
    _tag(installation, folder)
    worker.stop()
    _leave_work_undone(installation)


def _fill(installation: Installation, folder: Path) -> None:
    data = write_files(folder / "data", small_files())
    template = folder / "template.txt"
    first, *others, _ = default_template(TemplateTag.RAG_AUGMENTATION).splitlines()
    template.write_text("\n".join([f"{first} Be brief.", *others, "Answer in one paragraph."]))
    # Its headings are repaired, and its index is skipped.
    (folder / "pots.html").write_text(POTS)
    for arguments in (
        ("template", "new", TemplateTag.RAG_AUGMENTATION.value, str(template), "--title", "Shorter answers"),
        ("preset", "create", PRESET, "--description", "For works of a few lines.", *VALUES),
        ("import", "works", str(write_shelf(folder / "shelf")), "--corpus", "default", "--wait"),
        ("import", "works", str(folder / "pots.html"), "--corpus", "library", "--wait"),
        ("import", "participants", str(data)),
        ("index", "references", "--split", "paper-train", "--wait"),
        ("import", "tags", str(write_wardrobe(folder / "wardrobe"))),
        ("index", "tags", "wardrobe", "--wait"),
    ):
        done = installation.ragq(*arguments)
        assert done.exit_code == 0, done.stderr


def _ask(installation: Installation, folder: Path) -> None:
    expansion = folder / "expansion.json"
    expansion.write_text(json.dumps(EXPANSION))
    lenient = ("--set", "validation.enabled=true", "--set", f"validation.model={JUDGE}")
    unread = ("--set", "validation.enabled=true", "--set", f"validation.model={BABBLER}")
    written = ("--set", f"RAGQ_QUERY_MODEL={WRITER}")
    pasted = ("--expansion", str(expansion))
    arch = "What keeps the stones of an arch together?"
    asked = {}
    for question, options in (
        ("Does the weight of a pendulum change its swing?", ("--no-expand", "--until", "embed")),
        (arch, ("--no-expand", "--until", "validate", *unread)),
        ("Which tea is heated at once?", (*pasted, "--until", "consolidate")),
        ("How long should tea steep?", ("--no-expand", "--until", "validate")),
        (QUESTION, (*written, *lenient, "--until", "generate")),
    ):
        asked[question] = installation.submit("--query", question, "--corpus", "default", "--preset", PRESET, *options)
    for question, run_id in asked.items():
        states = installation.wait_for(run_id)
        assert states == ({"failed": 1} if question == arch else {"succeeded": 1}), installation.logs
    judged = installation.ragq("evaluate", f"r{run_id}", "--wait")
    assert judged.exit_code == 0, judged.stderr
    ready = next(
        line for line in installation.ragq("query", "list", "--json").json["items"] if line["status"] == "ready"
    )
    asyncio.run(_paste(installation.database_url, ready["id"]))


async def _paste(database_url: str, query_id: int) -> None:
    database = Database(database_url)
    await database.once(answer, query_id, ANSWER)
    await database.close()


def _score(installation: Installation, folder: Path) -> None:
    evidence = folder / "evidence.json"
    evidence.write_text(json.dumps(evidence_of({316: 2, 319: 3, 330: 1})))
    names = ("MODEL_JUDGE_MODEL", "MODEL_QUANTITATIVE_MODEL")
    models = [option for name in names for option in ("--set", f"{name}={SCORER}")]
    run_id = installation.submit(
        *("--participants", "316,319,330", "--evidence", str(evidence), "--until", "score", *models)
    )
    assert installation.wait_for(run_id) == {"succeeded": 6}, installation.logs
    words = ("--name", "small models, given evidence", "--note", "Three people of the small data set.")
    assert installation.ragq("set", f"r{run_id}", *words).exit_code == 0


def _tag(installation: Installation, folder: Path) -> None:
    phrases = folder / "phrases.jsonl"
    phrases.write_text(json.dumps(["tee", "winter wear", "blue pants"]) + "\n")
    run_id = installation.submit("--phrases", str(phrases), "--vocabulary", "wardrobe", "--until", "validate")
    assert installation.wait_for(run_id) == {"succeeded": 1}, installation.logs


def _leave_work_undone(installation: Installation) -> None:
    ask = ("--corpus", "default", "--no-expand", "--preset", PRESET, "--query")
    run_id = installation.submit(*ask, "What holds the deck of a long bridge?", "--until", "validate")
    worker = installation.start_worker(include=BROKEN, TEST_BREAKS="questions", stages=("expand", "embed"))
    assert installation.wait_for(run_id) == {"failed": 1}
    worker.stop()
    installation.submit(
        *ask, "Which clocks need no weight?", "--until", "generate", "--set", f"RAGQ_QUERY_MODEL={WRITER}"
    )
