"""`ragq report`, `diff`, `export`, `verify` and scores over stored runs.

test_shown.py has what they print; the numbers are those of `tests/stages/reports`.
"""

import csv
import json
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.values.chat import ReaskReason
from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.services.marked_run import marked_run
from tests.stages.reports.builders import labels, scores
from tests.store.query_runs import store_corpus, store_query_run
from tests.store.scored import NOTICES, TIMED_OUT, import_labels, noticed_run, store_scored_run

FEW = ("--bootstrap-resamples", "2")


def read(printed: str) -> Any:
    """Strict JSON: neither NaN nor infinity."""
    return json.loads(printed, parse_constant=pytest.fail)


async def two_runs(connection: Connection) -> tuple[int, int]:
    """The second run has a higher temperature, scores 316 better, and 319 not at all."""
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    cold = await store_scored_run(
        connection,
        {("zero_shot", 316): scores("21"), ("zero_shot", 319): scores("2"), ("few_shot", 316): scores("1")},
        settings={"MODEL_TEMPERATURE": 0.0},
    )
    hot = await store_scored_run(
        connection,
        {("zero_shot", 316): scores("1"), ("zero_shot", 319): TIMED_OUT},
        settings={"MODEL_TEMPERATURE": 0.5},
    )
    return cold, hot


async def twelve_worse(connection: Connection) -> tuple[int, int]:
    """Twelve participants that the second run scores worse, each by one."""
    await import_labels(connection, {number: labels("1") for number in range(316, 328)})
    before, after = [
        await store_scored_run(connection, {("zero_shot", number): scores(score) for number in range(316, 328)})
        for score in ("1", "2")
    ]
    return before, after


async def two_splits(connection: Connection) -> None:
    """r1 scores 316 and 319 in both modes, fails for 330 in one, and 339 has no labels; r2 scores 302."""
    people = {302: labels("10"), 316: labels("10"), 319: labels("2"), 330: labels("0"), 339: None}
    await import_labels(connection, people)
    asked_again = {"repairs": ("json_repair_fallback",), "reasks": (ReaskReason.CUT_OFF, ReaskReason.CUT_OFF)}
    await store_scored_run(
        connection,
        {
            ("zero_shot", 316): scores("11", "21", "53"),
            ("few_shot", 316): scores("10", "21", "53"),
            ("zero_shot", 319): scores("2", "1", "4"),
            ("few_shot", 319): scores("0", "1", "2"),
            ("zero_shot", 330): TIMED_OUT,
            ("few_shot", 330): scores("0", "1", "2").model_copy(update=asked_again),
            ("zero_shot", 339): scores("3"),
        },
        settings={"MODEL_QUANTITATIVE_MODEL": "scorer"},
    )
    await store_scored_run(connection, {("zero_shot", 302): scores("12", "21", "52")})


def test_a_report_has_the_same_numbers_in_every_format(ragq: Ragq, stored: Stored) -> None:
    stored(two_splits)
    asked = ("report", "r1", "--coverage-grid", "0.1", *FEW)

    report = read(ragq(*asked, "--json").stdout)
    printed = ragq(*asked, "--csv").stdout_bytes
    written = ragq(*asked, "--csv", "--output", "numbers.csv")
    page = ragq(*asked, "--html", "report.html")

    assert list(report) == ["run_metadata", "settings", "measures", "experiments", "failures", "draws", "timings"]
    assert [one["results"]["mode"] for one in report["experiments"]] == ["zero_shot", "few_shot"]
    assert report["experiments"][1]["results"]["results"][1]["predicted_items"]["NoInterest"] == 0
    assert report["settings"] == {"MODEL_QUANTITATIVE_MODEL": {"value": "scorer", "source": "option"}}
    rows = list(csv.DictReader(StringIO(printed.decode()), strict=True))
    cells = {(row["table"], row["row"], row["column"]): row for row in rows}
    for experiment in report["experiments"]:
        results, chosen = experiment["results"], experiment["selective_prediction"]["chosen"]
        intervals = {
            ("Results", "MAE weighted"): results["intervals"]["item_mae_weighted"],
            ("Results", "AURC"): chosen["aurc"],
            ("Selective risk", "0.1"): chosen["risk_at_coverage"]["0.1"]["risk"],
            **{
                ("Mean absolute error per item", name): one["mae_interval"] for name, one in results["per_item"].items()
            },
        }
        for place, interval in intervals.items():
            row = cells[*place, results["mode"]]
            found = [read(row[name] or "null") for name in ("value", "low", "high", "standard_error")]
            assert (place, found) == (place, [interval[name] for name in ("value", "low", "high", "std")])
        evaluated = cells["Results", "evaluated participants", results["mode"]]["value"]
        assert evaluated == str(results["evaluated_subjects"])
    left_out = "zero_shot: 1 failed, 1 without ground truth (in no mean error)."
    assert {row["notices"] for row in rows} == {" ".join((*report["run_metadata"]["notices"], left_out))}
    assert (written.stdout, written.stderr) == ("", "Wrote numbers.csv.\n")
    assert Path("numbers.csv").read_bytes() == printed
    assert (page.stdout, page.stderr) == ("", "Wrote report.html.\n")
    assert Path("report.html").read_text().startswith("<!doctype html>")

    asked = ("report", "r2", "--calibrate-on", "r1", *FEW)
    found = read(ragq(*asked, "--json").stdout)
    shown, page = ragq(*asked).output, ragq(*asked, "--html", "calibrated.html")
    assert found["measures"]["confidence"] == "calibrated:temperature:verbalized"
    assert found["experiments"][0]["calibrated"]["fitted_on"] == "r1"
    assert "r1 paper-test             2       3  temperature" in shown
    assert page.exit_code == 0 and "r1 paper-test" in Path("calibrated.html").read_text()


def test_runs_are_compared_in_each_mode_that_both_have_and_what_cannot_be_is_refused(
    ragq: Ragq, stored: Stored
) -> None:
    stored(two_runs)
    gate = ("--fail-if", "mae increases")

    (found,) = read(ragq("diff", "r1", "r2", "--json", *FEW).stdout)
    assert (found["mode"], [move["values"] for move in found["movements"]]) == ("zero_shot", [[2.0, 1.0], [1.0, None]])

    for arguments, words in [
        (("report", "r99"), "Run r99 does not exist."),
        (("report", "r1", "--confidence", "token_msp"), "token probabilities"),
        (("report", "r1", "--confidence", "luck"), "There is no confidence 'luck'"),
        (("diff", "r1", "r2", "r1", *gate), "between two runs"),
    ]:
        refused = ragq(*arguments).exception
        assert isinstance(refused, Refused) and words in str(refused), arguments


def test_a_gate_ends_with_its_own_exit_code_and_says_why(ragq: Ragq, stored: Stored) -> None:
    stored(twelve_worse)

    failed = ragq("diff", "r1", "r2", "--fail-if", "mae increases", "--json", *FEW)
    passed = ragq("diff", "r1", "r2", "--fail-if", "mae decreases", "--csv", *FEW)

    assert (failed.exit_code, passed.exit_code) == (4, 0)
    assert json.loads(failed.stdout)["verdicts"][0]["outcome"] == "failed"
    assert json.loads(failed.stdout)["comparisons"][0]["compared"][0]["subjects"] == 12
    assert failed.stderr.startswith("failed: zero_shot mae increases: ")
    assert passed.stderr.startswith("passed: zero_shot mae decreases: ")


async def ranked_runs(connection: Connection) -> None:
    """r1 has `a` at rank 2, and loses `c`, which is not judged; r2 has it at rank 1."""
    chunks = await store_corpus(connection, ["d1", "d2", "<script>"])
    one, two, other = chunks.values()
    seen = {"dense": [two, one], "lexical": [one], "fused": [two, one]}
    best = {"dense": [two, one], "lexical": [two], "fused": [two, one], "ranking": [two, one]}
    first = {"a": {**seen, "ranking": [two, one], "accepted": [two]}, "b": {**best, "accepted": [two]}, "c": None}
    for found in (first, {"a": {**seen, "ranking": [one, other]}, "b": best}):
        await store_query_run(connection, found, [("a", "d1", 1), ("b", "d2", 1), ("b", "d7", 1)])


def test_rankings_are_reported_plotted_and_compared_without_a_word_of_a_question(ragq: Ragq, stored: Stored) -> None:
    stored(ranked_runs)

    page = ragq("report", "r1", "--html", "report.html", *FEW)
    (found,) = read(ragq("diff", "r1", "r2", "--json", *FEW).stdout)
    plotted = ragq("report", "r1", "--plots", "plots", *FEW)

    written = Path("report.html").read_text()
    assert (page.stderr, written.count("<svg"), "http" in written) == ("Wrote report.html.\n", 1, False)
    assert "text of the question" not in written
    assert (found["runs"], found["compared"][0]["subjects"]) == (["r1", "r2"], 2)
    assert plotted.stderr == "Wrote plots/r1-ranking.svg.\nWrote plots/r1-ranking.png.\n"


def test_a_run_is_plotted_priced_written_to_a_file_and_checked(ragq: Ragq, stored: Stored) -> None:
    stored(marked_run)
    Path("prices.toml").write_text('currency = "EUR"\n[models.m]\nprompt = 10\nreply = 100\n')
    Path(".env").write_text("RAGQ_PRICES=prices.toml")

    ragq("report", "r1", "--plots", "plots", *FEW)
    for ending, begins in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert Path(f"plots/r1-items.{ending}").read_bytes()[: len(begins)] == begins

    assert "1 call paid, 100 + 20 tokens, 0.0030 EUR" in ragq("show", "r1").output
    assert json.loads(ragq("show", "r1", "--json").stdout)["cost"]["total"]["money"] == 0.003
    report = json.loads(ragq("report", "r1", "--json", *FEW).stdout)
    assert report["timings"]["cost"]["stages"]["score"]["prompt_tokens"] == 100

    exported = ragq("export", "r1")
    verified = ragq("verify", "r1.ragq.zip", "--json")
    assert (exported.exit_code, exported.stdout) == (0, "r1.ragq.zip\n"), exported.output
    assert (verified.exit_code, json.loads(verified.stdout)["problems"]) == (0, [])
    assert ragq("export", "r1").exit_code == 2, "it does not replace a file"
    data = Path("r1.ragq.zip").read_bytes()
    Path("r1.ragq.zip").write_bytes(data[:200] + b"?" + data[201:])
    assert ragq("verify", "r1.ragq.zip").exit_code == 1


def test_a_finished_run_is_watched_to_its_scores(ragq: Ragq, stored: Stored) -> None:
    stored(store_scored_run, {("few_shot", 316): scores("11"), ("zero_shot", 316): TIMED_OUT})

    watched = ragq("watch", "r1")

    assert watched.exit_code == 3
    assert "Without ground truth: 316." in watched.stdout
    assert json.loads(ragq("watch", "r1", "--json").stdout)["scores"]["modes"][0]["scored"] == 1


SHOWS_RESULTS = [
    ("show", "r1"),
    ("watch", "r1"),
    ("report", "r1", *FEW),
    ("report", "r1", "--json", *FEW),
    ("report", "r1", "--html", "page.html", *FEW),
    *(("report", "r1", f"--{form}", *FEW) for form in ("latex", "markdown", "csv")),
    *(("diff", "r1", "r1", f"--{form}", *FEW) for form in ("latex", "markdown", "csv")),
    ("runs", "--json"),
    ("diff", "r1", "r1", *FEW),
    ("diff", "r1", "r1", "--json", *FEW),
]


def test_every_notice_stands_with_the_results(ragq: Ragq, stored: Stored) -> None:
    assert stored(noticed_run) == 1
    for command in SHOWS_RESULTS:
        done = ragq(*command)

        printed = Path("page.html").read_text() if "--html" in command else done.stdout
        # LaTeX escapes underscores.
        shown = " ".join(unescape(printed).replace("\\_", "_").split())
        assert (command, done.exit_code, [notice for notice in NOTICES if notice not in shown]) == (command, 0, [])
