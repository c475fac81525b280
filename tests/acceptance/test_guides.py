"""Every command of the guides, page by page, on real workers with a scripted language model."""

import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from schemas.values.participants import PHQ8Item
from stack.ports import free_port
from stages.participants.splits import PUBLISHED_SPLITS
from tests.acceptance.conftest import FillOnce, Install
from tests.acceptance.forked import forked_ragq
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import write_shelf
from tests.acceptance.small_data_set import plain_files, transcript_file, write_files
from tests.docs.blocks import ROOT, blocks_of, pages, script
from tests.scripted_ollama import ACCEPT, ScriptedOllama, ScriptedReply

SHELF = "ragq import works books/ --corpus shelf --wait"
ASK = 'ragq submit --query "Why does black tea turn dark?" --corpus shelf --wait'
QUERY_SET = "ragq submit --queries set.jsonl --qrels set.tsv --corpus shelf --no-expand --until consolidate --wait"
TWO_PARTICIPANTS = "ragq submit --split paper-test --limit 2 --wait"

#: A line of the .env of a page.
ENVIRONMENT = re.compile(r"^[A-Z_]+=\S+$", re.MULTILINE)


@dataclass(frozen=True)
class Guide:
    """How a page is run: what comes before its commands, and what its example words stand for."""

    before: Mapping[str, str] = field(default_factory=dict)
    """The beginning of a command of the page, and what is run before it."""
    words: Mapping[str, str] = field(default_factory=dict)
    has_interviews: bool = False
    """The interviews are imported, and the index of them is run 1."""
    settings: Mapping[str, str] = field(default_factory=dict)
    prints: Sequence[str] = ()
    prints_never: Sequence[str] = ()

    def script(self, lines: Sequence[str]) -> str:
        words = re.compile("|".join(rf"(?<![\w.]){re.escape(word)}(?!\w)" for word in self.words) or "$^")
        written: list[str] = []
        waiting = dict(self.before)
        for line in lines:
            for beginning in [beginning for beginning in waiting if line.startswith(beginning)]:
                written.append(waiting.pop(beginning))
            written.append(words.sub(lambda found: self.words[found[0]], line))
        assert not waiting, f"The page has no command that begins so: {[*waiting]}"
        return script(written)


GUIDES: Mapping[str, Guide] = {
    "participants.md": Guide(
        before={
            "ragq import participants second-visit": "cp -r DIR second-visit",
            "ragq import participants corrected": "cp -r DIR corrected"
            f" && sed -i '$d' corrected/{transcript_file(PUBLISHED_SPLITS['test'][0])}",
        },
        words={
            "paper-test": "paper-test --limit 2",
            "../ai-psychiatrist": "ai-psychiatrist",
            "clinic": "DIR",
            "r5": "r2",
        },
    ),
    "artifacts.md": Guide(
        words={"r12": "r1"},
        has_interviews=True,
    ),
    "reports.md": Guide(
        before={
            "ragq report r12": "ragq submit --split paper-val --limit 8 --wait"
            " && ragq submit --split paper-test --limit 2 --wait"
            " && ragq submit --split paper-test --limit 2 --set EMBEDDING_TOP_K_REFERENCES=1 --wait",
            "ragq submit --queries": SHELF,
        },
        words={
            "paper-val": "paper-val --limit 8",
            "paper-test": "paper-test --limit 2",
            "r7": "r2",
            "r12": "r3",
            "r15": "r4",
            "r20": "r6",
            "r21": "r6",
            "r14": "r7",
        },
        has_interviews=True,
    ),
    "queries.md": Guide(
        before={"ragq template show": ASK}
        | dict.fromkeys(
            (
                *("ragq query edit", "ragq query edit 7 --passages", "ragq query edit 7 --mqe"),
                *("ragq query run 7 --from generate", "ragq query run 7 --from generate --model light"),
            ),
            "ragq watch r6",
        )
        | {"ragq query run 7 --preset": "ragq watch r4", "ragq query run 7 --set augmentation": "ragq watch r5"}
        | {"ragq diff": f"{QUERY_SET} --set retrieval.fusion=rrf"},
        words={"7": "1", "Original": "Balanced", "r12": "r8", "r13": "r9"},
    ),
    "corpora.md": Guide(),
    "pages.md": Guide(
        before={"ragq set": TWO_PARTICIPANTS},
        words={"purge --run r12": "purge --run r2 --yes", "r12": "r2"},
        has_interviews=True,
    ),
    "presets.md": Guide(before={"ragq preset list": SHELF}),
    "tags.md": Guide(words={"/tmp/tags": "tags"}),
    "api.md": Guide(
        before={"API=": f"{SHELF} && {ASK}", "curl $API/tags/runs": "ragq watch r7"},
        words={"runs/9": "runs/8", "7": "1", "12": "3", "34": "60"},
        has_interviews=True,
    ),
    "api-security.md": Guide(),
    "reproduce.md": Guide(
        words={
            "participants data": "participants DIR",
            "paper-test": "paper-test --limit 3",
            "huggingface_qwen3_8b_paper_train": "all_minilm_l6_v2_paper_train",
        },
        settings=dict(line.split("=", 1) for line in ENVIRONMENT.findall((ROOT / "docs" / "reproduce.md").read_text())),
        prints=("Results metric zero_shot few_shot", "aurc", "budget", "tabular"),
        prints_never=("parity",),
    ),
}
PORT = "8420"
#: Pages with a test of their own.
ELSEWHERE = {"README.md", "tutorial.md"}


def test_every_page_with_commands_is_run_by_a_test() -> None:
    with_commands = {
        page.name
        for page in pages()
        if page.parent.name != "how-to" and any(block.needs is None for block in blocks_of(page))
    }
    assert with_commands == set(GUIDES) | ELSEWHERE


@pytest.fixture(scope="session")
def interviews_template(fill_once: FillOnce) -> str:
    """A database with the interviews of all participants and their index, for pages to copy."""
    return fill_once("interviews_template", lambda made: made.learn(write_files(made.folder / "DIR", plain_files())))


@pytest.fixture
def installation(
    name: str, install: Install, ollama: ScriptedOllama, request: pytest.FixtureRequest
) -> Iterator[Installation]:
    """A new installation of a page with one worker, and the files that it names."""
    for model in ("smollm2:135m", "gemma3:12b"):
        ollama.model(reply, model)
    template = "interviews_template" if GUIDES[name].has_interviews else "migrated_template"
    with install(request.getfixturevalue(template)) as made:
        made.settings |= GUIDES[name].settings
        made.start_worker()
        write_files(made.folder / "DIR", plain_files())
        write_shelf(made.folder / "books")
        for file, text in FILES.items():
            (made.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (made.folder / file).write_text(text)
        yield made


EXPANSION = {
    "queries": ["catechins", "leaves", "oxygen"],
    "hyde_answer": "They oxidise.",
    "intent": "MECHANISM",
    "entities": [],
}
QUERY = {"_id": "q1", "text": "Why does black tea turn dark?"}
FILES = {
    "reply.txt": json.dumps(EXPANSION),
    "answer.txt": "Oxygen darkens the catechins [S1].",
    "queries.jsonl": json.dumps(QUERY),
    "set.jsonl": json.dumps(QUERY),
    "qrels.tsv": "query-id\tcorpus-id\tscore\nq1\ttea\t1\n",
    "set.tsv": "query-id\tcorpus-id\tscore\nq1\ttea\t1\n",
    "tea.md": "# Tea\n\nA drink.\n",
    "bridges.md": "# Bridges\n\nA way over water.\n",
    "tags.csv": "name,category,count,aliases\ncoat,0,500,overcoat\nred,1,2000,\n",
    "splits.csv": "Participant_ID,split\n302,mine\n",
    "ai-psychiatrist/.env": "LLM_BACKEND=ollama\n",
}


def reply(prompt: str) -> ScriptedReply:
    """A usable reply to the prompt of any stage, the same for the same prompt."""
    if "Source:" in prompt:
        return ScriptedReply("Oxygen darkens the catechins [S1].")
    if "hyde_answer" in prompt:
        return ScriptedReply(json.dumps(EXPANSION))
    if PHQ8Item.SLEEP.evidence_key not in prompt:
        return ScriptedReply(ACCEPT)
    drawn = {item.evidence_key: zlib.crc32(f"{item} {prompt}".encode()) % 4 for item in PHQ8Item}
    if "<transcript>" not in prompt:
        return ScriptedReply(json.dumps(drawn))
    scores = {key: {"score": score, "confidence": 1 + score % 3} for key, score in drawn.items()}
    return ScriptedReply(json.dumps(scores))


@pytest.mark.parametrize("name", GUIDES)
def test_every_command_of_the_page_works(name: str, installation: Installation) -> None:
    guide = GUIDES[name]
    port = str(free_port())
    lines = [line for block in blocks_of(ROOT / "docs" / name) if block.needs is None for line in block.commands]
    commands = replace(guide, words={**guide.words, PORT: port}).script(lines)
    if port in commands:
        installation.start("ragq", "api", "--port", port)
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
            client.get(f"http://127.0.0.1:{port}/healthz").raise_for_status()
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", commands],
        cwd=installation.folder,
        env=installation.environment | {"PATH": f"{forked_ragq()}:{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-30:])
    printed = " ".join(done.stdout.split())
    assert [words for words in guide.prints if words not in printed] == []
    assert [words for words in guide.prints_never if words in printed] == []
