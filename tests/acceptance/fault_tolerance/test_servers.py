"""Servers stop while work runs, and lose their data."""

import time

import pytest

from schemas.chains import QUEUES
from stack.parts import worker_command
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation, Servers
from tests.acceptance.harness import judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

THREE = {316: 1, 319: 1, 330: 1}


def test_a_run_whose_messages_are_lost_before_it_begins_and_in_its_middle_is_finished(
    breakable: BreakableInstallation, servers: Servers, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=0.2)
    run_id = breakable.submit(*evidence(THREE), *judged_by(judge.name))
    servers.empty_broker()
    breakable.start_worker(concurrency=1)
    for calls in (1, 3, 5):
        eventually(lambda: judge.calls >= calls)  # noqa: B023  (called before the loop continues)
        servers.empty_broker()

    breakable.assert_recovered(run_id, jobs=3)
    assert set(judge.calls_per_prompt.values()) == {1}


@pytest.mark.parametrize("pool", [None, "processes"])
def test_a_worker_reconnects_to_a_broker_that_died_and_runs_what_was_submitted_meanwhile(
    breakable: BreakableInstallation, servers: Servers, judge: ScriptedModel, evidence: GiveEvidence, pool: str | None
) -> None:
    """A message was not acknowledged when it died.

    With kombu 5.7's own transport the worker ends here, 9 times out of 9, with an unrecoverable AttributeError.
    It closes the channel of the lost connection twice, and the second time it tries to give the unacknowledged
    messages back through a connection that is None.
    """
    judge.answer = lambda prompt: ScriptedReply(delay_s=1 if judge.calls == 1 else 0)
    worker = breakable.start_worker(pool=pool, concurrency=4)
    run_id = breakable.submit(*evidence({316: 1}), *judged_by(judge.name))
    eventually(lambda: judge.calls == 1)
    # One message is processed while the worker, which has free slots, waits for others.
    servers.valkey.kill()
    try:
        eventually(lambda: judge.calls == 2)
        submitted = breakable.ragq("submit", "--json", *evidence({319: 1, 330: 1}), *judged_by(judge.name))
    finally:
        servers.valkey.start()

    breakable.assert_recovered(run_id, jobs=1)
    assert (submitted.exit_code, submitted.json["jobs"]) == (0, 2)
    breakable.assert_recovered(submitted.json["run_id"], jobs=2)
    assert worker.is_alive
    assert "Unrecoverable" not in worker.output
    assert set(judge.calls_per_prompt.values()) == {1}


def test_a_run_finishes_after_a_restart_of_the_database(
    breakable: BreakableInstallation, servers: Servers, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    """The database is unavailable for longer than a lease, and yet no running worker loses a stage."""
    judge.answer = lambda prompt: ScriptedReply(delay_s=0.5)
    worker = breakable.start_worker(concurrency=2)
    run_id = breakable.submit(*evidence(THREE), *judged_by(judge.name))
    eventually(lambda: judge.calls >= 2)

    servers.postgres.kill()
    eventually(lambda: worker.output.count("heartbeat_missed") > 5)
    servers.postgres.start()

    attempts = breakable.assert_recovered(run_id, jobs=3)
    assert set(map(tuple, attempts.values())) == {("succeeded",)}
    assert set(judge.calls_per_prompt.values()) == {1}
    assert worker.is_alive


def test_a_run_finishes_although_every_database_session_is_ended_repeatedly(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=0.2)
    worker = breakable.start_worker(concurrency=2)
    run_id = breakable.submit(*evidence(THREE), *judged_by(judge.name))
    ended = 0
    while judge.calls < 6:
        ended += breakable.terminate_sessions()
        time.sleep(0.2)

    breakable.assert_recovered(run_id, jobs=3)
    assert ended > 6
    assert set(judge.calls_per_prompt.values()) == {1}
    assert worker.is_alive


def test_a_worker_that_cannot_start_exits(breakable: BreakableInstallation, servers: Servers) -> None:
    """Celery alone would log the error and keep running: a worker without a heartbeat and without a reaper."""
    worker = breakable.start(*worker_command("unfit", QUEUES, 1)[2:], DATABASE_URL=servers.database_url("postgres"))

    worker.process.join(60)

    assert (worker.process.exit_code, "worker_cannot_start" in worker.output) == (1, True)
