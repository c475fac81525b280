"""`ragq config`, and how commands reach the database."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.config import config, with_open_database
from schemas.errors import Refused
from schemas.settings.process import KNOWN_NAMES
from store.database import Database


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """A runner in an empty folder with no setting in the environment."""
    monkeypatch.chdir(tmp_path)
    return CliRunner(env=dict.fromkeys([*KNOWN_NAMES, "TESTING"]))


def test_show_keeps_secrets_and_refuses_what_submit_would_refuse(runner: CliRunner) -> None:
    names = {"DATABASE_URL": "postgresql://u:hidden@h/x", "REDIS_URL": "redis://:hidden@h"}
    for options in [[], ["--json"]]:
        output = runner.invoke(config, ["show", *options], env=names | {"RAGQ_OPENAI_API_KEY": "hidden"}).output

        assert output.count("set, not shown") == 3
        assert "hidden" not in output
    assert isinstance(runner.invoke(config, ["show", "--profile", "papr"]).exception, Refused)


class Rows:
    """What a command reads, which counts how often its words are asked for."""

    asked = 0

    def __repr__(self) -> str:
        self.asked += 1
        return "every row of a run"


def test_no_words_are_made_of_what_a_command_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    read = Rows()

    async def work(_database: Database) -> Rows:
        return read

    assert (with_open_database(work) is read, read.asked) == (True, 0)
