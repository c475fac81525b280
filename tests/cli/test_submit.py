"""`ragq submit` of participants: what it prints of the settings, and the modes that they leave."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ragq, Stored
from tests.cli.test_imports import write_transcript
from tests.tcp_proxy import CommitProxy

ZERO_SHOT = ("submit", "--participants", "303", "--zero-shot-only")


@pytest.fixture
def submit(ragq: Ragq, tmp_path: Path) -> Ragq:
    """`ragq`, with participant 303 stored."""
    write_transcript(tmp_path / "data/transcripts", 303)
    assert ragq("import", "participants", "data").exit_code == 0
    return ragq


async def cancel(connection: Any, run_id: int) -> None:
    await connection.execute("UPDATE job SET status = 'cancelled' WHERE run_id = $1", run_id)


def test_notices_and_settings_of_a_run_that_is_waited_for_are_printed_once(submit: Ragq, stored: Stored) -> None:
    assert submit(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12").exit_code == 0
    stored(cancel, 1)

    done = submit(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12", "--wait")

    assert done.exit_code == 3
    assert (done.output.count("BINARY_THRESHOLD"), done.output.count("135M")) == (1, 1)


def test_a_run_that_is_stored_is_named_although_the_database_is_gone_then(submit: Ragq, database_url: str) -> None:
    with CommitProxy(database_url, answers=True) as proxy:
        done = submit(*ZERO_SHOT, env={"DATABASE_URL": proxy.url})

    assert (done.exit_code, done.stdout) == (0, "r1\n")
    assert "r1: 1 job submitted" in done.stderr


def test_a_text_in_the_place_of_its_file_is_refused_with_the_option_that_takes_it(ragq: Ragq) -> None:
    for option, instead in [
        ("--phrases", "`echo 'where is it?' | ragq submit --phrases -`"),
        ("--queries", "`ragq submit --query 'where is it?'`"),
    ]:
        refused = ragq("submit", option, "where is it?")

        assert (refused.exit_code, instead in refused.stderr) == (2, True)
        assert ragq("submit", option, "word " * 1000).exit_code == 2
