"""`ragq submit` of participants: what it prints of the settings, and the modes that they leave."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ragq
from tests.cli.test_daic_woz_files import write_transcript
from tests.commit_proxy import CommitProxy

ZERO_SHOT = ("submit", "--participants", "303", "--zero-shot-only")


@pytest.fixture
def submit(ragq: Ragq, tmp_path: Path) -> Ragq:
    """`ragq`, with participant 303 stored."""
    write_transcript(tmp_path / "data/transcripts", 303)
    assert ragq("import", "participants", "data").exit_code == 0
    return ragq


async def cancel(connection: Any, run_id: int) -> None:
    await connection.execute("UPDATE job SET status = 'cancelled' WHERE run_id = $1", run_id)


async def modes(connection: Any) -> list[str]:
    return [row["mode"] for row in await connection.fetch("SELECT mode FROM job ORDER BY id")]


def test_notices_and_settings_of_a_run_that_is_waited_for_are_printed_once(
    submit: Ragq, stored: Callable[..., Any]
) -> None:
    assert submit(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12").exit_code == 0
    stored(cancel, 1)

    done = submit(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12", "--wait")

    assert done.exit_code == 3
    assert (done.output.count("BINARY_THRESHOLD"), done.output.count("135M")) == (1, 1)


def test_a_run_is_named_at_its_submission_and_another_run_of_that_name_stores_nothing(submit: Ragq) -> None:
    assert submit(*ZERO_SHOT, "--name", "baseline").exit_code == 0
    assert json.loads(submit("show", "baseline", "--json").stdout)["overview"]["id"] == 1

    taken = submit(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12", "--name", "Baseline")
    unusable = submit(*ZERO_SHOT, "--set", "BINARY_THRESHOLD=12", "--name", "r7")
    several = submit(*ZERO_SHOT, "--samples", "2", "--set", "MODEL_TEMPERATURE=1", "--name", "varied")

    assert (taken.exit_code, unusable.exit_code, several.exit_code) == (1, 1, 2)
    assert "`ragq set` names each" in several.stderr
    assert len(json.loads(submit("runs", "--json").stdout)) == 1
    assert submit(*ZERO_SHOT, "--name", "first").stdout == "r1\n"
    assert submit("show", "first").exit_code == 0


def test_without_few_shot_participants_are_scored_in_zero_shot_mode_alone(
    submit: Ragq, stored: Callable[..., Any]
) -> None:
    Path(".env").write_text("ENABLE_FEW_SHOT=false\n")

    done = submit("submit", "--participants", "303")

    assert (done.exit_code, stored(modes)) == (0, ["zero_shot"])
    assert "1 setting differs from profile demo: ENABLE_FEW_SHOT=false" in done.stderr


def test_a_run_that_is_stored_is_named_although_the_database_is_gone_then(submit: Ragq, database_url: str) -> None:
    with CommitProxy(database_url, answers=True) as proxy:
        done = submit(*ZERO_SHOT, env={"DATABASE_URL": proxy.url})

    assert (done.exit_code, done.stdout) == (0, "r1\n")
    assert "r1: 1 job submitted" in done.stderr


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("--phrases", "`echo 'where is it?' | ragq submit --phrases -`"),
        ("--queries", "`ragq submit --query 'where is it?'`"),
    ],
)
def test_a_text_in_the_place_of_its_file_is_refused_with_the_option_that_takes_it(
    ragq: Ragq, option: str, instead: str
) -> None:
    refused = ragq("submit", option, "where is it?")

    assert (refused.exit_code, instead in refused.stderr) == (2, True)
    assert ragq("submit", option, "word " * 1000).exit_code == 2
