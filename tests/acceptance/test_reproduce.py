"""Every command of docs/reproduce.md on short interviews of all participants, with a scripted language model."""

import json
import re
import shlex

from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import Install
from tests.acceptance.small_data_set import plain_files, write_files
from tests.acceptance.test_reports import draw_scores
from tests.docs.blocks import ROOT, blocks_of
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

PAGE = ROOT / "docs" / "reproduce.md"
PRINTED = re.compile(r"^`ragq report r2`.*\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = re.compile(r"^```ini\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def environment(model: ScriptedModel) -> dict[str, str]:
    """The .env of the page, with a scripted model for the language models."""
    (block,) = ENVIRONMENT.findall(PAGE.read_text())
    values = dict(line.split("=", 1) for line in block.splitlines())
    language_models = {name: model.name for name, value in values.items() if value == "smollm2:135m"}
    assert set(language_models) == {"MODEL_JUDGE_MODEL", "MODEL_QUANTITATIVE_MODEL"}
    return values | language_models


def test_every_command_of_the_page_works_in_its_order(
    install: Install, migrated_template: str, judge: ScriptedModel, ollama: ScriptedOllama
) -> None:
    judge.answer = draw_scores
    scores = json.dumps({item.evidence_key: place % 4 for place, item in enumerate(PHQ8Item)})
    scorer = ollama.model(lambda prompt: ScriptedReply(scores), "gemma3:12b")
    printed = {}
    with install(migrated_template) as installation:
        write_files(installation.folder / "data", plain_files())
        installation.settings |= environment(judge)
        installation.start_worker()
        for line in [line for block in blocks_of(PAGE) for line in block.commands]:
            program, *command = shlex.split(line)
            assert program == "ragq"
            more = ("--limit", "3", "--until", "score") if command[0] == "submit" else ()
            done = installation.ragq(*command, *more)
            assert done.exit_code == 0, (command, done.stdout, done.stderr)
            printed[" ".join(command)] = done.stdout

    (shown,) = PRINTED.findall(PAGE.read_text())
    headings = [line.split() for line in shown.splitlines() if line.startswith(("Results", "metric "))]
    assert len(headings) == 2
    assert [heading for heading in headings if heading not in map(str.split, printed["report r2"].splitlines())] == []
    assert [of for of, words in printed.items() if "parity" in words] == []
    assert "aurc" in printed["diff r4 r5"]
    assert "budget" in printed["report r5"]
    assert "tabular" in printed["report r2 --latex"]
    assert scorer.calls > 0
    assert printed["runs --csv"].count("paper-test") == 8
