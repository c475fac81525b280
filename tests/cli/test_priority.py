"""`ragq priority` and `ragq submit --priority`."""

import json
from collections.abc import Callable
from typing import Any

from store.runs import runs
from tests.cli.conftest import Ragq
from tests.store.conftest import new_run


def test_the_priority_of_a_run_changes_its_share(ragq: Ragq, stored: Callable[..., Any]) -> None:
    first, second = (stored(runs.store, new_run(), always_new=True).run_id for _ in range(2))

    lowered = ragq("priority", f"r{first}", "bulk")
    raised = ragq("priority", f"r{second}", "interactive", "--json")

    assert lowered.stdout == f"r{first}: bulk, 2 of 2, 20%.\n"
    assert json.loads(raised.stdout) == {
        "run": f"r{second}",
        "priority": "interactive",
        "share": {"position": 1, "runs": 2, "share": 16 / 17},
    }
    listed = {run["id"]: run for run in json.loads(ragq("runs", "--json").stdout)}
    assert (listed[first]["priority"], listed[first]["share"]["position"]) == ("bulk", 2)
    assert "bulk, 2 of 2" in ragq("runs").stdout


def test_a_level_that_there_is_not_is_refused_with_the_nearest(ragq: Ragq, stored: Callable[..., Any]) -> None:
    run_id = stored(runs.store, new_run()).run_id

    refused = ragq("priority", f"r{run_id}", "interactiv")

    assert refused.exit_code == 2
    assert "did you mean 'interactive'" in refused.stderr.lower()
