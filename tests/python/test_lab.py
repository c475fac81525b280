"""The Python package over a real database, and the example notebook."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import ragq
from schemas.values.reports import Report
from store.database import Database
from tests.cli.test_results import two_runs
from tests.services.marked_run import marked_run


@pytest.fixture
def lab(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ragq.Lab]:
    monkeypatch.chdir(tmp_path)
    with ragq.connect(database_url=database_url, redis_url="redis://127.0.0.1:1/0") as connected:
        yield connected


def test_runs_and_scores_are_records_and_one_table(lab: ragq.Lab) -> None:
    first, second = lab.read(two_runs)

    assert [run.id for run in lab.runs()] == [second, first]
    scores = lab.run(second).scores()
    table = lab.run(f"r{second}").scores_table()
    assert (len(scores), table.to_pylist()) == (16, scores)
    found = {(one["participant"], one["score"], one["truth"]) for one in scores}
    assert found >= {(316, 1, 1), (319, None, 2)}


def test_a_run_is_waited_for_and_reported(lab: ragq.Lab) -> None:
    lab.read(marked_run)
    run = lab.run("r1")

    assert run.wait(timeout=60).is_idle
    report = run.report(bootstrap_resamples=20)
    assert isinstance(report, Report)
    assert report.experiments[0].results.evaluated_subjects == 1
    assert run.overview().jobs == 1


async def test_it_works_where_a_loop_runs_already(database: Database) -> None:
    def connected() -> int:
        with ragq.connect(database_url=database.url, redis_url="redis://127.0.0.1:1/0") as lab:
            return len(lab.runs())

    assert await asyncio.to_thread(connected) == 0
    with ragq.connect(database_url=database.url, redis_url="redis://127.0.0.1:1/0") as lab:
        assert len(lab.runs()) == 0


def test_a_submission_with_problems_is_refused_as_in_the_command_line(lab: ragq.Lab) -> None:
    with pytest.raises(ragq.Refused, match="Split 'nowhere' is not stored"):
        lab.submit(ragq.ParticipantRequest(split="nowhere", modes=("few_shot",)))


NOTEBOOK = Path(__file__).parents[2] / "docs/notebooks/compare-runs.ipynb"


@pytest.mark.servers
@pytest.mark.filterwarnings("ignore")
def test_the_example_notebook_runs(
    lab: ragq.Lab, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.read(two_runs)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOK.parents[2]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]

    assert all(not cell.get("outputs") for cell in notebook.cells), "the stored notebook has no outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    assert "<ragq run r1>" in "".join(str(cell.get("outputs", "")) for cell in notebook.cells)
