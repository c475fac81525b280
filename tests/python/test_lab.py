"""The Python package over a real database."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragq
from ragq.tables import Table
from schemas.values.prices import ModelPrice
from schemas.values.reports import Report
from store.database import Connection, Database
from store.runs import forks
from tests.services.marked_run import marked_run
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run


@pytest.fixture
def lab(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ragq.Lab]:
    monkeypatch.chdir(tmp_path)
    with ragq.connect(database_url=database_url, redis_url="redis://127.0.0.1:1/0") as connected:
        yield connected


async def two_runs(connection: Connection) -> tuple[int, int]:
    await import_labels(connection, {316: labels("1"), 319: labels("2")})
    first = await store_scored_run(connection, {("zero_shot", 316): scores("2"), ("zero_shot", 319): TIMED_OUT})
    second = await store_scored_run(connection, {("zero_shot", 316): scores("1"), ("zero_shot", 319): scores("2")})
    return first, second


def test_runs_jobs_attempts_scores_and_differences_are_tables(lab: ragq.Lab) -> None:
    first, second = lab.read(two_runs)
    run = lab.run(first)

    assert [row["run"] for row in lab.runs()] == [f"r{second}", f"r{first}"]
    jobs = run.jobs().to_pandas()
    assert jobs["status"].tolist() == ["succeeded", "failed"]
    assert jobs["error_type"].tolist()[1] == "schemas.errors.LLMTimeoutError"
    assert run.attempts().to_polars().height == 4
    assert len(run.scores()) == 16
    difference = lab.diff(first, f"r{second}")
    assert "item_mae_weighted" in [row["metric"] for row in difference]
    assert difference.to_pandas()["delta"].dtype == float
    assert [row["failures"] for row in lab.failures()] == [1]


def test_a_run_is_waited_for_reported_priced_and_displayed(lab: ragq.Lab) -> None:
    lab.read(marked_run)
    run = lab.run("r1")

    assert run.wait(timeout=60).is_idle
    report = run.report(bootstrap_resamples=20)
    assert isinstance(report, Report)
    assert report.experiments[0].results.evaluated_subjects == 1
    prices = ragq.Prices(currency="EUR", models={"m": ModelPrice(prompt=10, reply=100)})
    assert run.cost(prices).total.money == pytest.approx(0.003)
    assert "few_shot" in run.jobs()._repr_html_()
    assert "<strong>r1" in run._repr_html_()
    assert "MARKED" not in run._repr_html_()
    assert "MARKED" in str(run.attempts(with_text=True).rows)


def test_a_run_is_written_to_a_file_and_checked(lab: ragq.Lab, tmp_path: Path) -> None:
    lab.read(marked_run)
    exported = lab.run(1).export(tmp_path / "a.zip")

    assert ragq.verify(exported.file).problems == ()


def test_a_run_that_is_not_there_is_refused(lab: ragq.Lab) -> None:
    for words in (99, "r99", "baseline"):
        with pytest.raises(ragq.Refused):
            lab.run(words)


async def test_it_works_where_a_loop_runs_already(database: Database) -> None:
    def connected() -> int:
        with ragq.connect(database_url=database.url, redis_url="redis://127.0.0.1:1/0") as lab:
            return len(lab.runs())

    assert await asyncio.to_thread(connected) == 0
    with ragq.connect(database_url=database.url, redis_url="redis://127.0.0.1:1/0") as lab:
        assert len(lab.runs()) == 0


def test_text_in_a_table_is_escaped() -> None:
    shown = Table([{"<b>": "<script>"}])._repr_html_()

    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_submission_with_problems_is_refused_as_in_the_command_line(lab: ragq.Lab) -> None:
    with pytest.raises(ragq.Refused, match="Split 'nowhere' is not stored"):
        lab.submit(ragq.ParticipantRequest(split="nowhere", modes=("zero_shot",)))  # type: ignore[arg-type]


async def a_swept_run(connection: Connection) -> None:
    """A run, and two finished forks of it that a sweep finds."""
    await import_labels(connection, dict.fromkeys((316, 319), labels("22222222")))
    await forkable_run(connection, dict.fromkeys((316, 319), scores("33333333")))


async def finish_forks(connection: Connection) -> None:
    for run_id, digits in {2: "22222222", 3: "00000000"}.items():
        for job in await forks.parent_jobs(connection, run_id):
            await finish(connection, job.id, ("score",), scores(digits))


def test_a_sweep_is_a_table_of_paired_differences(lab: ragq.Lab) -> None:
    lab.read(a_swept_run)
    run = lab.run("r1")
    for chars in (10, 20):
        run.fork("score", {"RAGQ_SCORE_TEXT_CHARS": chars})
    lab.read(finish_forks)

    found = run.sweep("score", {"RAGQ_SCORE_TEXT_CHARS": [10, 20]}, measures=["item_mae_weighted"])

    assert [(row["run"], row["RAGQ_SCORE_TEXT_CHARS"], row["delta"], row["is_best"]) for row in found] == [
        ("r2", "10", -1.0, True),
        ("r3", "20", 1.0, False),
    ]
    assert found.to_pandas()["corrected_low"].dtype == float
