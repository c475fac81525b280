"""`ragq watch`: the progress of a run."""

import os
import subprocess
import sys
from threading import Timer

import pytest

from cli import watch
from store.database import Connection, Database
from store.references import index_runs
from store.runs import runs, stages
from store.runs.run_view import RunView
from tests.cli.conftest import Ragq, Stored
from tests.store.conftest import new_run
from tests.store.references.test_references import fail, planned, succeed
from tests.store.scored import BROKEN, claimed, committing, enroll, take


async def fail_for_two_seconds(connection: Connection, job_id: int) -> None:
    await stages.fail(connection, await claimed(connection, job_id), BROKEN, inputs={}, retry_in_s=2)
    await connection.execute("UPDATE job SET sent_at = now() + interval '2 seconds'")


@pytest.mark.parametrize(
    ("enrolled", "is_broker_there", "obstacle"),
    [
        ("extract", False, "extract: The broker does not answer. `ragq doctor` helps."),
        ("score", True, "extract: No worker takes queue extract. `ragq worker --stages extract` helps."),
        ("extract", True, "extract: builtins.RuntimeError: it broke Until "),
    ],
    ids=["no broker", "no worker of the queue", "a retry"],
)
def test_watching_says_once_why_nothing_goes_on(
    ragq: Ragq, stored: Stored, monkeypatch: pytest.MonkeyPatch, enrolled: str, is_broker_there: bool, obstacle: str
) -> None:
    monkeypatch.setattr(watch, "_LOOKS_EVERY_S", 0.1)
    monkeypatch.setattr(watch, "broker_answers", lambda _: is_broker_there)
    run = stored(runs.store, new_run(stages=("extract",)))
    stored(enroll, enrolled)
    if "Until" in obstacle:
        stored(fail_for_two_seconds, run.job_ids[0])
    later = Timer(2.5, lambda: stored(take, run.job_ids[0], "extract", committing({})))
    later.start()

    watched = ragq("watch", f"r{run.run_id}")

    later.join()
    assert (watched.exit_code, watched.stderr.count(obstacle)) == (0, 1), watched.stderr


def test_ctrl_c_stops_the_watching_and_not_the_run(database_url: str, stored: Stored) -> None:
    run = stored(runs.store, new_run(stages=("extract",)))
    environment = os.environ | {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    program = (
        "import signal\n"
        "from cli import watch\n"
        "from cli.main import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "watch.look = lambda *_: signal.raise_signal(signal.SIGINT)\n"
        "main()\n"
    )

    command = [sys.executable, "-c", program, "watch", f"r{run.run_id}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert f"run r{run.run_id} continues. `ragq watch r{run.run_id}` watches it again." in done.stderr
    assert stored(lambda connection: connection.fetchval("SELECT status FROM job")) == "waiting"


async def test_a_publication_that_begins_meanwhile_is_waited_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs and due publications are read in one snapshot, although a reaper commits in between."""
    async with database.connection() as connection, database.connection() as reaper:
        run_id, (good, bad) = await planned(connection, 304, 313, may_be_partial=True)
        await succeed(connection, good)
        await fail(connection, bad)
        read = watch.read

        async def read_then_change(connection: Connection, run_id: int) -> RunView:
            view = await read(connection, run_id)
            assert await index_runs.publish_again(reaper) == [good]
            return view

        monkeypatch.setattr(watch, "read", read_then_change)
        view, state = await watch.look(connection, run_id)

    assert (view.run.open_jobs, state.is_idle) == (0, False)
