"""`ragq logs`."""

import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import cli
from stack.home import Home
from stack.logs import followed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A stack's folder without logs."""
    monkeypatch.setenv("RAGQ_HOME", str(tmp_path))
    found = Home(tmp_path)
    found.make()
    return found


def logs(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["logs", *arguments])


def test_an_unknown_part_is_wrong_usage(home: Home) -> None:
    assert logs("worker").exit_code == 2


def test_what_is_added_is_followed_also_over_a_rotation(home: Home) -> None:
    path, new = home.log("llm"), home.log("api")
    path.write_text("before\n")
    lines = followed({"llm": path, "api": new})

    def following() -> tuple[str, str]:
        deadline = time.monotonic() + 20
        found = next(lines)
        assert time.monotonic() < deadline
        return found

    def append() -> None:
        with path.open("a") as log:
            log.write("added\n")

    threading.Timer(0.3, append).start()
    assert following() == ("llm", "added")

    new.write_text("of a new log\n")
    assert following() == ("api", "of a new log")

    path.rename(path.with_suffix(".log.1"))
    path.write_text("after the rotation\n")
    assert following() == ("llm", "after the rotation")
