"""`ragq retry`, `pause`, `resume` and `cancel`."""

import json

from store.runs import runs
from tests.cli.conftest import Ragq, Stored
from tests.store.conftest import new_run


def test_a_decision_is_printed_as_text_or_as_json(ragq: Ragq, stored: Stored) -> None:
    run = stored(runs.store, new_run(("316", "317")))

    paused = ragq("pause", f"r{run.run_id}", "--note", "not now")
    cancelled = ragq("cancel", f"j{run.job_ids[0]}", "--json")

    assert paused.output == f"2 jobs of r{run.run_id} paused.\n"
    assert json.loads(cancelled.stdout) == {
        "target": f"j{run.job_ids[0]}",
        "action": "cancelled",
        "jobs": [f"j{run.job_ids[0]}"],
    }


def test_paused_jobs_are_resumed_although_the_broker_is_unavailable(ragq: Ragq, stored: Stored) -> None:
    run = stored(runs.store, new_run())
    ragq("pause", f"r{run.run_id}")

    resumed = ragq("resume", f"r{run.run_id}")

    assert (resumed.exit_code, resumed.stdout) == (0, f"1 job of r{run.run_id} resumed.\n")
