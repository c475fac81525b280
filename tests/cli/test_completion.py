"""Completion with the Tab key, with names from the database where it answers."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from cli.completed_names import VARIABLE
from cli.main import cli
from schemas.settings.process import KNOWN_NAMES
from store.runs import run_names
from tests.cli.conftest import Ragq
from tests.cli.test_submission_file import store_everything


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user whose shell has no settings yet."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR", "SHELL", *KNOWN_NAMES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bash_completes_a_command_and_a_name_with_a_space(ragq: Ragq, home: Path, database_url: str) -> None:
    assert ragq("preset", "create", "Short works").exit_code == 0
    program = (
        'PATH="$1:$PATH"; eval "$(_RAGQ_COMPLETE=bash_source ragq)"\n'
        'COMP_WORDS=(ragq "${@:2}"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()\n'
        '_ragq_completion ragq; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"HOME": str(home), "DATABASE_URL": database_url}

    def completed(*words: str) -> list[str]:
        scripts = str(Path(sys.executable).parent)
        done = subprocess.run(
            ["bash", "-c", program, "bash", scripts, *words], env=environment, capture_output=True, text=True
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    assert completed("expo") == ["export"]
    assert completed("preset", "show", "Sh") == ["'Short works'"]


@pytest.fixture
def complete(database_url: str, stored: Callable[..., Any], home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Completes the last word, over a database with names of every kind."""
    stored(store_everything)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")

    def completions(*words: str) -> list[str]:
        shell = ShellComplete(cli, {}, "ragq", VARIABLE)
        return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]

    return completions


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("submit", "--split", ""), ["paper-test"]),
        (("submit", "--corpus", "SM"), ["small"]),
        (("submit", "--query", "why", "--preset", "or"), ["Original"]),
        (("submit", "--vocabulary", ""), ["clothes"]),
        (("splits", "show", "paper"), ["paper-test"]),
        (("corpus", "delete", "s"), ["small"]),
        (("preset", "set", "O"), ["Original"]),
        (("vocabulary", "show", "c"), ["clothes"]),
        (("index", "tags", "c"), ["clothes"]),
        (("import", "works", "folder", "--corpus", "s"), ["small"]),
        (("report", "r1", "--loss", "abs_"), ["abs_norm"]),
        (("template", "show", "query"), ["query_expansion"]),
    ],
)
def test_names_are_completed(complete: Any, words: tuple[str, ...], found: list[str]) -> None:
    assert complete(*words) == found


def test_runs_are_completed_by_number_and_name(complete: Any, ragq: Ragq, stored: Callable[..., Any]) -> None:
    run = ragq("submit", "--query", "Why?", "--corpus", "small").stdout.strip()
    stored(run_names.rename, int(run[1:]), "baseline")

    for command in ("show", "watch", "report", "retry", "diff"):
        assert complete(command, "r") == [run]
        assert complete(command, "ba") == ["baseline"]
