"""`ragq report` over stored rows."""

import json
from pathlib import Path

import pytest

from schemas.errors import Refused
from schemas.values.chat import ReaskReason
from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20")


async def three_participants(connection: Connection) -> int:
    """316 and 319 are scored in both modes, 330 fails in one; 339 has no labels."""
    await import_labels(connection, {316: labels("10"), 319: labels("2"), 330: labels("0"), 339: None})
    return await store_scored_run(
        connection,
        {
            ("zero_shot", 316): scores("11", "21", "53"),
            ("few_shot", 316): scores("10", "21", "53"),
            ("zero_shot", 319): scores("2", "1", "4"),
            ("few_shot", 319): scores("0", "1", "2"),
            ("zero_shot", 330): TIMED_OUT,
            ("few_shot", 330): scores("0", "1", "2").model_copy(
                update={"repairs": ("json_repair_fallback",), "reasks": (ReaskReason.CUT_OFF, ReaskReason.CUT_OFF)}
            ),
            ("zero_shot", 339): scores("3"),
        },
        settings={"MODEL_QUANTITATIVE_MODEL": "scorer"},
    )


@pytest.fixture
def run_id(stored: Stored) -> int:
    found: int = stored(three_participants)
    return found


def test_json_is_strict_and_has_the_shape_of_a_run(ragq: Ragq, run_id: int) -> None:
    printed = ragq("report", str(run_id), "--json", *FEW).stdout

    found = json.loads(printed, parse_constant=pytest.fail)
    assert list(found) == ["run_metadata", "settings", "measures", "experiments", "failures", "draws", "timings"]
    assert [one["results"]["mode"] for one in found["experiments"]] == ["zero_shot", "few_shot"]
    assert found["experiments"][1]["results"]["results"][1]["predicted_items"]["NoInterest"] == 0
    assert found["settings"] == {"MODEL_QUANTITATIVE_MODEL": {"value": "scorer", "source": "option"}}


def test_a_page_is_written_where_it_is_asked_for(ragq: Ragq, run_id: int) -> None:
    done = ragq("report", str(run_id), "--html", "report.html", *FEW)

    assert (done.stdout, done.stderr) == ("", "Wrote report.html.\n")
    assert Path("report.html").read_text().startswith("<!doctype html>")


async def two_splits(connection: Connection) -> tuple[int, int]:
    """A run, and another of other participants."""
    await import_labels(connection, {302: labels("10"), 316: labels("10"), 319: labels("2")})
    one = await store_scored_run(connection, {("zero_shot", 316): scores("11", "21", "53")})
    return one, await store_scored_run(connection, {("zero_shot", 302): scores("12", "21", "52")})


def test_a_confidence_is_calibrated_on_a_run_of_other_participants(ragq: Ragq, stored: Stored) -> None:
    one, other = stored(two_splits)

    found = json.loads(ragq("report", f"r{one}", "--calibrate-on", f"r{other}", "--json", *FEW).stdout)
    shown = ragq("report", f"r{one}", "--calibrate-on", f"r{other}", *FEW).output
    page = ragq("report", f"r{one}", "--calibrate-on", f"r{other}", "--html", "report.html", *FEW)

    assert found["measures"]["confidence"] == "calibrated:temperature:verbalized"
    assert found["experiments"][0]["calibrated"]["fitted_on"] == f"r{other}"
    assert f"r{other} paper-test             1       2  temperature" in shown
    assert page.exit_code == 0
    assert f"r{other} paper-test" in Path("report.html").read_text()


def test_what_cannot_be_reported_is_refused(ragq: Ragq, run_id: int) -> None:
    for arguments, words in [
        (("r99",), "Run r99 does not exist."),
        (("r1", "--confidence", "token_msp"), "token probabilities"),
        (("r1", "--confidence", "luck"), "There is no confidence 'luck'"),
    ]:
        refused = ragq("report", *arguments, *FEW).exception

        assert isinstance(refused, Refused)
        assert words in str(refused)
