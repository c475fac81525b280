"""How commands reach the database, and how their process ends."""

import pytest

from cli.config import with_open_database
from store.database import Database


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
