"""`ragq submit` of participants: what it prints of the settings, and the modes that they leave."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.submit import report_submitted
from schemas.errors import Refused
from schemas.settings.resolve import resolve
from services.new_runs import Submitted
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


def test_settings_that_differ_from_the_profile_are_printed_in_one_line(submit: Ragq) -> None:
    Path(".env").write_text("MODEL_JUDGE_MODEL=judge\nMODEL_TEMPERATURE=0.0\n")

    done = submit(*ZERO_SHOT, "--profile", "paper", "--set", "EMBEDDING_TOP_K_REFERENCES=5")

    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == (
        "2 settings differ from profile paper: EMBEDDING_TOP_K_REFERENCES=5, MODEL_JUDGE_MODEL=judge"
    )
    assert done.stdout == "r1\n"


def test_of_more_than_three_settings_the_others_are_counted_and_show_lists_them(submit: Ragq) -> None:
    values = {"BINARY_THRESHOLD": "12", "MODEL_JUDGE_MODEL": "judge", "MODEL_TEMPERATURE": "1", "RAGQ_RETRIES": "5"}
    options = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]

    done = submit(*ZERO_SHOT, "--profile", "paper", *options)
    shown = [line.split() for line in submit("show", "r1").stdout.splitlines()]

    assert done.stderr.splitlines()[-1] == (
        "4 settings differ from profile paper: MODEL_JUDGE_MODEL=judge, MODEL_TEMPERATURE=1.0, BINARY_THRESHOLD=12 "
        "and 1 more; `ragq show r1` lists them"
    )
    assert shown[-5] == ["changed", "setting", "value", "profile", "paper", "from"]
    assert ["RAGQ_RETRIES", "5", "0", "option"] in shown[-4:]


def test_a_setting_without_a_part_in_the_work_is_not_mentioned(submit: Ragq) -> None:
    assert "PSQ_" not in submit(*ZERO_SHOT, "--set", "PSQ_MAX_TAGS=5").stderr


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


def test_nothing_is_printed_of_settings_when_nothing_differs(submit: Ragq) -> None:
    assert "differ" not in submit(*ZERO_SHOT).stderr
    assert json.loads(submit(*ZERO_SHOT, "--json").stdout)["changed_settings"] == {}


def test_json_has_the_changed_settings_and_no_warning(submit: Ragq) -> None:
    Path(".env").write_text("API_PORT=8000\n")

    done = submit(*ZERO_SHOT, "--profile", "paper", "--set", "BINARY_THRESHOLD=12", "--json")

    assert json.loads(done.stdout)["changed_settings"] == {
        "BINARY_THRESHOLD": {"value": 12, "profile": 10, "source": "option"}
    }
    assert done.stderr.count("Warning: API_PORT (file .env) has no effect: set RAGQ_API_PORT.\n") == 1


def test_many_names_without_effect_are_counted(submit: Ragq) -> None:
    Path(".env").write_text("API_PORT=8000\nAPI_HOST=x\nFEEDBACK_ENABLED=true\nFEEDBACK_TARGET_SCORE=4\n")

    done = submit(*ZERO_SHOT)
    checked = submit("config", "check").stdout

    warned = [line for line in done.stderr.splitlines() if line.startswith("Warning:")]
    assert [line.split()[1] for line in warned] == ["FEEDBACK_ENABLED", "FEEDBACK_TARGET_SCORE", "2"]
    assert warned[-1] == "Warning: 2 more names without effect; `ragq config check` shows what to use instead."
    assert all(name in checked for name in ("API_HOST", "API_PORT", "FEEDBACK_ENABLED", "FEEDBACK_TARGET_SCORE"))


def test_the_same_submission_again_prints_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    settings = resolve(profile="paper", environment={"BINARY_THRESHOLD": "12"})

    report_submitted([Submitted(1, False, 2, 0)], settings, kind="participant")

    shown = capsys.readouterr().err
    assert "Already submitted as r1; nothing new was stored." in shown
    assert "1 setting differs from profile paper: BINARY_THRESHOLD=12" in shown


def test_a_run_of_another_version_is_said_to_have_other_prompts(capsys: pytest.CaptureFixture[str]) -> None:
    report_submitted(
        [Submitted(1, False, 2, 0, other_version="0.0.9")], resolve(profile="paper", environment={}), kind="participant"
    )

    assert "r1 was submitted with ragq 0.0.9, whose prompts may differ from those of" in capsys.readouterr().err


def test_without_few_shot_participants_are_scored_in_zero_shot_mode_alone(
    submit: Ragq, stored: Callable[..., Any]
) -> None:
    Path(".env").write_text("ENABLE_FEW_SHOT=false\n")

    done = submit("submit", "--participants", "303")

    assert (done.exit_code, stored(modes)) == (0, ["zero_shot"])
    assert "1 setting differs from profile demo: ENABLE_FEW_SHOT=false" in done.stderr


def test_few_shot_alone_without_few_shot_is_refused(submit: Ragq, stored: Callable[..., Any]) -> None:
    done = submit("submit", "--participants", "303", "--few-shot-only", "--set", "ENABLE_FEW_SHOT=false")

    assert isinstance(done.exception, Refused)
    assert str(done.exception) == (
        "ENABLE_FEW_SHOT=false (option) leaves a few-shot submission no mode; --set ENABLE_FEW_SHOT=true enables it."
    )
    assert stored(modes) == []


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
