"""`ragq watch`: a run as it goes."""

from collections.abc import Callable
from threading import Timer
from typing import Any

from store import runs, stages
from store.database import Connection
from tests.cli.conftest import Ragq
from tests.store.conftest import new_run


async def carry_out(connection: Connection, job_id: int) -> None:
    claim = await stages.claim(connection, job_id, "extract", "worker", 60)
    assert claim is not None
    await stages.commit(connection, claim, inputs={}, output={})


def test_a_run_is_followed_to_its_end(ragq: Ragq, stored: Callable[..., Any]) -> None:
    run = stored(runs.store, new_run(stages=("extract",)))
    later = Timer(0.7, lambda: stored(carry_out, run.job_ids[0]))
    later.start()

    watched = ragq("watch", f"r{run.run_id}", "--json")

    later.join()
    assert watched.exit_code == 0
    assert '"succeeded": 1' in watched.stdout
