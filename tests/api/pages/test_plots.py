"""Plots of a run's report."""

from collections.abc import Iterator

import httpx
import pytest

from api.pages import results
from schemas.values.runs import ScoredRun
from store.database import Connection
from tests.api.pages.html import see
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run


@pytest.fixture
async def run_id(connection: Connection) -> int:
    """A finished run with data for plots."""
    await import_labels(connection, {300: labels("01230123"), 301: labels("11111111")})
    return await store_scored_run(
        connection,
        {
            ("few_shot", 300): scores("01230123", "11111111"),
            ("few_shot", 301): scores("0121", "1111"),
            ("few_shot", 302): TIMED_OUT,
        },
    )


async def test_plots_are_drawn_once_and_again_when_the_run_changed(
    client: httpx.AsyncClient, connection: Connection, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    draw = results._drawn

    def counting(run: ScoredRun) -> Iterator[tuple[str, str]]:
        drawn.append(run.run_id)
        return draw(run)

    monkeypatch.setattr(results, "_drawn", counting)
    await see(client, f"/runs/{run_id}/plots")
    await see(client, f"/runs/{run_id}/plots")
    assert drawn == [run_id]
    await connection.execute("""UPDATE participant SET items = items || '{"PHQ8_Sleep": 3}' WHERE id = 300""")
    await see(client, f"/runs/{run_id}/plots")
    assert drawn == [run_id, run_id]
