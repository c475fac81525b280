"""The command line over the data of the site: tables in a terminal of eighty columns, and hostile names and texts."""

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Final
from unittest.mock import patch

import pytest

from cli.main import main
from cli.output import Text
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Finished, Installation
from tests.browser.places import IDS
from tests.browser.poison import Poison, replace_names, replace_texts

#: A terminal that takes no colours, which rich holds to be eighty columns wide.
NARROW = {"TTY_COMPATIBLE": "1", "TERM": "dumb"}

COMMANDS = (
    *("runs", "show r1", "show r2", "show r11", "show r12", "inspect j1", "failures r6", "report r11", "diff r11 r11"),
    *("corpus list", "corpus show default", "preset list", "preset show", "template list", "index list"),
    *("splits list", "vocabulary list", "vocabulary tags wardrobe", "tags show r12 --verbose --phrase-ranks"),
    *("config show", "token list", "query list"),
)


Ragq = Callable[..., Finished]
"""Runs `ragq` on an installation, in this process: each of a hundred processes would take most of its time to start."""


@pytest.fixture
def ragq(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ragq:
    def run(on: Installation, *arguments: str, **environment: str) -> Finished:
        monkeypatch.chdir(on.folder)
        monkeypatch.setattr(sys, "argv", ["ragq", *arguments])
        with patch.dict(os.environ, on.environment | environment, clear=True), pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return Finished(ended.value.code, *capsys.readouterr())

    return run


def test_nothing_is_cut_off_at_eighty_columns(install: Install, populated_template: str, ragq: Ragq) -> None:
    found = {}
    with install(populated_template) as filled:
        for command in COMMANDS:
            done = ragq(filled, *command.split(), **NARROW)
            too_long = [line for line in done.stdout.splitlines() if len(line.rstrip()) > 80]
            found[command] = (done.exit_code, "…" in done.stdout, too_long)

    # The splits of the small data set are not the paper's.
    assert found == dict.fromkeys(COMMANDS, (0, False, [])) | {"splits list": (1, False, [])}


#: They clear the screen, set its title and colours, make a link, go back in the line, turn the direction and ring.
HOSTILE: Final = (
    *("\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://127.0.0.2:9/\x1b\\link", "\x9b31mred"),
    *("gone\r\x1b[K", "\u202eback\u2066", "\x08\x7f\x0c", "<b>bold</b>[red]"),
)

#: Commands that print names and texts; {…} are numbers and names of the site.
LISTINGS: Final = (
    *("runs", "runs --json", "query list", "corpus list", "corpus show {corpus_name}"),
    *("work show {work}", "work show j{document}"),
    *("preset list", "preset show {preset_name}", "template list"),
    *("preset set {preset_name} --default", "splits list", "index list", "vocabulary list", "vocabulary tags wardrobe"),
    *("tags show r{tagged_run} --verbose",),
    *("token list", "token revoke {token}", "set r{scored_run} --note {token}"),
    *("show r{scored_run}", "show r{failed_run}", "show r{answered_run}", "show r{tagged_run}", "show r{document_run}"),
    *("show r{evaluated_run}", "inspect j{answered_job}", "inspect j{failed_job}", "inspect j{tagged_job}"),
    *("inspect j{scored_job}", "inspect j{answered_job} generate", "inspect j{failed_job} validate"),
    *("failures r{failed_run}", "report r{scored_run}"),
    *("report r{answered_run}", "report r{evaluated_run}", "diff r{failed_run} r{answered_run}"),
    *("diff r{scored_run} r{scored_run} --mode zero_shot --other-mode few_shot", "fork r{scored_run} --from score"),
    *("fork r{scored_run} --from score --dry-run", "query show {answered}", "query show {failed}"),
    *("query show {failed} --json", "audit", "doctor"),
    *("corpus show {token}", "preset show {token}", "vocabulary tags {token}"),
    *("submit --split {split}", "ask {token} --corpus {token}"),
    *("retry r{failed_run}", "pause r{failed_run}", "resume r{failed_run}", "cancel r{failed_run} --note {token}"),
)

#: Commands that print what programs read: exact in a pipe.
EXACT: Final = ("work export {work}", "template show rag_augmentation", "show r{answered_run} --config --with-text")

NAMED: Final = """
SELECT (SELECT min(name) FROM corpus) AS corpus_name, (SELECT max(preset_name) FROM rag_config) AS preset_name,
       (SELECT min(name) FROM split) AS split
"""

ACTIVE_TEMPLATE: Final = """
SELECT template_content FROM prompt_templates WHERE function_tag = 'rag_augmentation' AND is_active
"""


@pytest.fixture(scope="module")
def hostile(install: Install, populated_template: str) -> Iterator[Installation]:
    """A populated installation in which every name and text tries to control the terminal."""
    with install(populated_template) as installation:
        assert installation.ragq("token", "create", "laptop").exit_code == 0
        poison = Poison(HOSTILE, in_long=len(HOSTILE))
        replace_texts(installation, poison)
        replace_names(installation, poison)
        installation.rows("UPDATE prompt_templates SET template_content = $1", poison.long())
        yield installation


@pytest.fixture
def named(hostile: Installation) -> dict[str, Any]:
    return {"token": "".join(HOSTILE), **hostile.rows(IDS)[0], **hostile.rows(NAMED)[0]}


def test_what_programs_read_is_exact(hostile: Installation, named: dict[str, Any], ragq: Ragq) -> None:
    texts = [ragq(hostile, *(word.format(**named) for word in command.split())).stdout for command in EXACT]

    markdown = hostile.value("SELECT markdown FROM works WHERE id = $1", named["work"])
    assert texts[:2] == [markdown, hostile.value(ACTIVE_TEMPLATE) + "\n"]
    (asked,) = tomllib.loads(texts[2])["queries"]
    assert hostile.value("SELECT original_query FROM queries WHERE id = $1", named["answered"]) in asked.values()


def test_no_name_controls_a_terminal(hostile: Installation, named: dict[str, Any], ragq: Ragq) -> None:
    raw, signs = {}, 0
    for command in LISTINGS:
        done = ragq(hostile, *(word.format(**named) for word in command.split()))
        printed = done.stdout + done.stderr
        signs += "␛" in printed
        if Text(printed).plain != printed:
            raw[command] = printed

    assert raw == {}
    assert signs > len(LISTINGS) / 2
