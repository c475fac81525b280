"""`ragq import-results`: results of ai-psychiatrist as runs that are reported and compared."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import ImportedRunError, Refused
from tests.cli.conftest import Ragq
from tests.original_results import experiment, failed, results_file, subject
from tests.stages.reports.builders import labels, scores
from tests.store.scored import import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20")
QUOTED = "the reply began with: I wake at four"

ZERO = experiment("zero_shot", subject(316, "11000000", "20000000"), failed(319, QUOTED), item_mae_weighted=0.25)
SHOT = experiment("few_shot", subject(316, "2-000000", "20000000"), subject(319, "--------", "00000003"))


@pytest.fixture
def imported(ragq: Ragq) -> Any:
    Path("both.json").write_bytes(results_file(ZERO, SHOT))
    return ragq("import-results", "both.json")


def test_a_file_becomes_a_run_that_shows_where_it_is_from(ragq: Ragq, imported: Any) -> None:
    assert imported.exit_code == 0, imported.output
    assert imported.stdout == "r1: 2 participants in zero_shot (1 failed), 2 participants in few_shot\n"
    notice = "Imported from ai-psychiatrist (run 1a2b3c4d, of 2026-01-07T12:00:00, commit abc1234)"
    for shown in (ragq("show", "r1").output, ragq("report", "r1", *FEW).output, imported.stderr):
        assert notice in " ".join(shown.split())
    listed = ragq("runs").stdout
    assert "paper-test imported" in listed
    record = json.loads(ragq("runs", "--json").stdout)[0]["request"]["imported"]
    assert record["experiments"][1]["provenance"]["embeddings_checksum"] == "0123456789abcdef"
    assert "secret" not in json.dumps(record)


def test_the_report_has_the_numbers_of_the_file_and_no_times(ragq: Ragq, imported: Any) -> None:
    report = json.loads(ragq("report", "r1", "--json", *FEW).stdout, parse_constant=pytest.fail)

    zero, shot = (one["results"] for one in report["experiments"])
    assert (zero["item_mae_weighted"], zero["evaluated_subjects"], zero["failed_subjects"]) == (0.25, 1, 1)
    assert (shot["item_mae_weighted"], shot["prediction_coverage"], shot["excluded_no_evidence"]) == (0.0, 0.875, 1)
    provenance = report["experiments"][1]["provenance"]
    assert (provenance["split"], provenance["quantitative_model"]) == ("paper-test", "gemma3:27b-it-qat")
    assert provenance["quantitative_model_digests"] == []
    assert report["settings"]["MODEL_QUANTITATIVE_MODEL"] == {"value": "gemma3:27b-it-qat", "source": "imported"}
    assert "token_msp" in report["experiments"][1]["selective_prediction"]["by_confidence"]
    assert report["timings"]["modes"]["few_shot"]["total_duration_seconds"] is None
    assert ragq("report", "r1", *FEW).exit_code == 0


def test_it_is_compared_with_a_run_of_ragq(ragq: Ragq, imported: Any, stored: Callable[..., Any]) -> None:
    async def own(connection: Any) -> int:
        await import_labels(connection, {316: labels("2"), 319: labels("00000003")})
        return await store_scored_run(connection, {("zero_shot", 316): scores("2"), ("zero_shot", 319): scores("1")})

    (found,) = json.loads(ragq("diff", "r1", f"r{stored(own)}", "--json", *FEW).stdout, parse_constant=pytest.fail)

    assert (found["left"]["run_id"], found["common_participants"]) == ("r1", 1)
    assert found["deltas"]["item_mae_weighted"]["delta"]["value"] == -0.25
    assert found["failed_in_left_only"] == [319]


def test_the_error_of_a_participant_is_shown_with_its_attempt_alone(ragq: Ragq, imported: Any) -> None:
    for shown in ("show", "report", "failures"):
        assert QUOTED not in ragq(shown, "r1", "--json").stdout
    job = next(job for job in json.loads(ragq("show", "r1", "--json").stdout)["jobs"] if job["status"] == "failed")

    assert QUOTED in ragq("inspect", f"j{job['job_id']}", "score").stdout
    assert ragq("audit", "r1").exit_code == 0


def test_nothing_of_it_is_retried(ragq: Ragq, imported: Any) -> None:
    job = json.loads(ragq("show", "r1", "--json").stdout)["jobs"][1]["job_id"]
    for action, target in (("retry", "r1"), ("retry", f"j{job}"), ("cancel", "r1")):
        refused = ragq(action, target).exception
        assert isinstance(refused, ImportedRunError)
        assert str(refused).startswith("Run r1 was imported and cannot be ")


def test_the_same_file_finds_its_run(ragq: Ragq, imported: Any) -> None:
    again = ragq("import-results", "both.json", "--json")

    (found,) = json.loads(again.stdout)
    assert (found["run"], found["is_new"]) == ("r1", False)


def test_other_labels_and_metrics_than_the_files_are_named(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(lambda connection: import_labels(connection, {316: labels("1")}))
    other = experiment(
        "zero_shot", subject(316, "11000000", "20000000"), subject(330, "0" * 8, "0" * 8), item_mae_weighted=0.619
    )
    Path("one.json").write_bytes(results_file(other))

    done = ragq("import-results", "one.json")

    printed = " ".join(done.stderr.split())
    assert "Other item labels than the file's are stored for participant 316." in printed
    assert "No item labels are stored for 1 participants of the file." in printed
    assert "The file states item_mae_weighted 0.619 for zero_shot; its items give 0.125000." in printed
    report = json.loads(ragq("report", "r1", "--json", *FEW).stdout)
    assert report["experiments"][0]["results"]["item_mae_weighted"] == 0.125


def test_of_several_files_all_are_stored_or_none(ragq: Ragq) -> None:
    Path("good.json").write_bytes(results_file(SHOT))
    Path("bad.json").write_bytes(b'{"run_metadata": {"run_id": "x"}, "experiments": 3}')

    refused = ragq("import-results", "good.json", "bad.json").exception

    assert isinstance(refused, Refused)
    assert "bad.json: experiments: Input should be a valid array; name a results file" in str(refused)
    assert json.loads(ragq("runs", "--json").stdout) == []
    assert isinstance(ragq("import-results", "absent.json").exception, Refused)
