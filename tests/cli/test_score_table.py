"""The scores of a participant run in the terminal."""

import json

from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import scores
from tests.store.scored import TIMED_OUT, store_scored_run


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
