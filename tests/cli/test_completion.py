"""Completion with the Tab key: installed by a command, with names from the database where it answers."""

import json
import os
import subprocess
import sys
import time
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


@pytest.mark.parametrize(
    ("shell", "start", "script"),
    [
        ("bash", ".bashrc", ".local/share/ragq/completion.bash"),
        ("zsh", ".zshrc", ".local/share/ragq/completion.zsh"),
        ("fish", None, ".config/fish/completions/ragq.fish"),
    ],
)
def test_a_second_installation_adds_nothing(ragq: Ragq, home: Path, shell: str, start: str | None, script: str) -> None:
    if start is not None:
        (home / start).write_text("alias l=ls")

    first = json.loads(ragq("completion", "install", "--shell", shell, "--json").stdout)
    after_first = {path: path.read_text() for path in home.rglob("*") if path.is_file()}
    second = ragq("completion", "install", "--shell", shell)

    assert first == {"shell": shell, "files": [str(home / name) for name in (script, start) if name is not None]}
    assert {path: path.read_text() for path in home.rglob("*") if path.is_file()} == after_first
    assert (second.exit_code, "open a new terminal" in second.stdout) == (0, True)
    assert f"_RAGQ_COMPLETE={shell}_complete" in (home / script).read_text()
    if start is not None:
        lines = (home / start).read_text().splitlines()
        assert (lines[0], len(lines), str(home / script) in lines[1]) == ("alias l=ls", 2, True)


def test_the_shell_is_that_of_the_user_and_another_is_refused(
    ragq: Ragq, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "fish_complete" in ragq("completion", "show").stdout

    monkeypatch.setenv("SHELL", "/bin/tcsh")
    refused = ragq("completion", "show")
    assert (refused.exit_code, "SHELL names tcsh; choose one with --shell: bash, zsh, fish." in refused.stderr) == (
        2,
        True,
    )


def test_bash_completes_a_command_and_a_name_with_a_space(ragq: Ragq, home: Path, database_url: str) -> None:
    assert ragq("completion", "install", "--shell", "bash").exit_code == 0
    assert ragq("preset", "create", "Short works").exit_code == 0
    program = (
        'PATH="$1:$PATH"; . ~/.bashrc; COMP_WORDS=(ragq "${@:2}"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()\n'
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

    assert completed("compl") == ["completion"]
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


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/none", "postgresql://192.0.2.1/none", "nonsense", None])
def test_without_a_database_nothing_is_completed_and_nothing_printed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], url: str | None
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("RAGQ_HOME", str(home))
    if url is not None:
        monkeypatch.setenv("DATABASE_URL", url)
    started = time.monotonic()

    found = ShellComplete(cli, {}, "ragq", VARIABLE).get_completions(["show"], "r")

    assert (found, capfd.readouterr()) == ([], ("", ""))
    assert time.monotonic() - started < 30
