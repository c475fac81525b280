"""The scores of a participant run in the terminal."""

import json

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, Outcome, import_labels, store_scored_run


async def scored(connection: Connection) -> int:
    await import_labels(connection, {316: labels("10"), 319: None})
    outcomes: dict[tuple[str, int], Outcome] = {
        ("few_shot", 316): scores("11"),
        ("zero_shot", 316): TIMED_OUT,
        ("few_shot", 319): None,
    }
    return await store_scored_run(connection, outcomes)


def test_a_finished_run_is_watched_to_its_scores(ragq: Ragq, stored: Stored) -> None:
    run_id = stored(
        lambda connection: store_scored_run(
            connection, {("few_shot", 316): scores("11"), ("zero_shot", 316): TIMED_OUT}
        )
    )

    watched = ragq("watch", f"r{run_id}")

    assert watched.exit_code == 3
    assert "Without ground truth: 316." in watched.stdout
    assert json.loads(ragq("watch", f"r{run_id}", "--json").stdout)["scores"]["modes"][0]["scored"] == 1
