"""The example notebook runs on a database with two runs."""

import asyncio
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from store.database import Database
from tests.python.test_lab import two_runs

NOTEBOOK = Path(__file__).parents[2] / "docs/notebooks/compare-runs.ipynb"


@pytest.mark.servers
@pytest.mark.filterwarnings("ignore")
def test_the_example_notebook_runs(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def store() -> None:
        database = Database(database_url, pool_size=1)
        async with database.connection() as connection:
            await two_runs(connection)
        await database.close()

    asyncio.run(store())
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOK.parents[2]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]

    assert all(not cell.get("outputs") for cell in notebook.cells), "the stored notebook has no outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    shown = "".join(str(cell.get("outputs", "")) for cell in notebook.cells)
    assert "<ragq run r1>" in shown
    assert "<ragq run r1>" in shown
