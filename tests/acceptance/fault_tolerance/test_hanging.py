"""A computation that keeps the interpreter's lock stops every thread of its worker, the heartbeat too."""

from collections.abc import Iterator
from typing import Any

import pytest

from schemas.chains import QUEUES
from stack.home import Home, Part
from stack.parts import worker_command
from stack.supervision import HEARTBEATS, Supervisor
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.harness import BROKEN
from tests.eventually import eventually

TIMES = {"RAGQ_LEASE_SECONDS": "4", "RAGQ_HUNG_SECONDS": "10"}
HOLDS: Any = TIMES | {"TEST_BREAKS": "lock", "TEST_HOLD_SECONDS": "300"}
RUNNING = "SELECT EXISTS (SELECT FROM stage_run WHERE status = 'running')"
ONCE = {(0, "extract"): ["interrupted", "succeeded"]}
QUICK = ("--few-shot-only", "--until", "extract")


def test_a_late_worker_that_kept_the_lock_stores_nothing(
    breakable: BreakableInstallation, evidence: GiveEvidence
) -> None:
    worker = breakable.start_worker(include=BROKEN, **(HOLDS | {"TEST_HOLD_SECONDS": "5", "RAGQ_LEASE_SECONDS": "2"}))
    run_id = breakable.submit(*evidence({316: 2}), *QUICK)
    breakable.wait_until(RUNNING)
    breakable.start_worker()

    breakable.assert_recovered(run_id, 1)
    eventually(lambda: "stage_result_thrown_away" in worker.output)
    assert breakable.attempts(run_id) == ONCE
    assert worker.is_alive


@pytest.fixture
def supervisor(breakable: BreakableInstallation) -> Iterator[Supervisor]:
    """A supervised worker whose first stage keeps the lock for five minutes."""
    command = [*worker_command("held", QUEUES, 8), f"--include={BROKEN}"]
    home = Home(breakable.folder / "supervised")
    home.make()
    found = Supervisor(home)
    environment = breakable.environment | HOLDS
    found.launch([Part(name="worker-held", command=command)], environment)
    yield found
    found.shutdown()


def test_a_worker_that_hangs_for_too_long_is_ended_by_its_supervisor_and_another_takes_its_stage(
    breakable: BreakableInstallation, evidence: GiveEvidence, supervisor: Supervisor
) -> None:
    supervisor.start("worker-held")
    run_id = breakable.submit(*evidence({316: 2}), *QUICK)
    breakable.wait_until(RUNNING)
    hung = supervisor.parts()["worker-held"]["pid"]
    breakable.start_worker()

    breakable.assert_recovered(run_id, 1)
    assert breakable.attempts(run_id) == ONCE
    eventually(lambda: supervisor.parts()["worker-held"]["pid"] not in (hung, 0))
    log = (breakable.folder / "supervised" / "logs" / f"{HEARTBEATS}.log").read_text()
    assert "worker_killed" in log
    assert f'"pid": {hung}' in log


def test_a_worker_whose_loop_is_blocked_ends_itself(breakable: BreakableInstallation, evidence: GiveEvidence) -> None:
    worker = breakable.start_worker(include=BROKEN, **(HOLDS | {"TEST_BREAKS": "loop"}))
    run_id = breakable.submit(*evidence({316: 2}), *QUICK)
    eventually(lambda: not worker.is_alive)
    breakable.start_worker()

    breakable.assert_recovered(run_id, 1)
    assert breakable.attempts(run_id) == ONCE
    assert "worker_killed" in worker.output
