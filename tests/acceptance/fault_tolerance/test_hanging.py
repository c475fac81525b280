"""A computation that keeps the interpreter's lock stops every thread of its worker, the heartbeat too."""

import json
import os
import signal
from typing import Any

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation

HOLDING = "tests.acceptance.fault_tolerance.holding_extract"
#: Long enough for the watchdog of a busy machine to start.
TIMES: Any = {"RAGQ_LEASE_SECONDS": "4", "RAGQ_HEARTBEAT_SECONDS": "0.5"}

HANGS = "SELECT EXISTS (SELECT FROM worker WHERE hung_since IS NOT NULL)"


def logged(output: str, event: str) -> list[dict[str, object]]:
    """The log lines of an event."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


@pytest.mark.parametrize("way", ["sleep", "regex"])
def test_a_worker_that_keeps_the_lock_keeps_its_leases_and_is_reported(
    breakable: BreakableInstallation, evidence: GiveEvidence, way: str
) -> None:
    worker = breakable.start_worker(include=HOLDING, TEST_HOLD=way, TEST_HOLD_SECONDS="9", **TIMES)
    run_id = breakable.submit(*evidence({316: 2}), "--few-shot-only", "--until", "extract")
    breakable.wait_until(HANGS)
    shown = breakable.ragq("show", f"r{run_id}")
    found = breakable.ragq("doctor", "--json")
    other = breakable.start_worker()
    states = breakable.wait_for(run_id)

    assert (states, breakable.attempts(run_id)) == ({"succeeded": 1}, {(0, "extract"): ["succeeded"]})
    breakable.wait_until(f"SELECT NOT ({HANGS[7:]})")
    assert f":{worker.pid} hangs for" in shown.stderr
    assert "extract" in shown.stderr
    assert f":{worker.pid} hangs for" in found.stdout
    (first, *_) = logged(worker.output, "worker_hung")
    assert str(first["place"]).startswith("tests/acceptance/fault_tolerance/holding_extract.py:")
    assert logged(worker.output, "worker_recovered")
    assert not logged(other.output, "worker_hung")


def test_a_worker_that_hangs_for_too_long_is_killed_and_another_takes_its_stage(
    breakable: BreakableInstallation, evidence: GiveEvidence
) -> None:
    worker = breakable.start_worker(include=HOLDING, TEST_HOLD_SECONDS="300", RAGQ_HUNG_SECONDS="10", **TIMES)
    run_id = breakable.submit(*evidence({316: 2}), "--few-shot-only", "--until", "extract")
    breakable.wait_until(HANGS)
    breakable.start_worker()
    states = breakable.wait_for(run_id)

    assert (states, breakable.attempts(run_id)) == ({"succeeded": 1}, {(0, "extract"): ["interrupted", "succeeded"]})
    assert not worker.is_alive
    assert "hung for longer than RAGQ_HUNG_SECONDS" in breakable.inspect(run_id, "extract")[0]["error_message"]


def test_the_stages_of_a_killed_worker_are_due_before_its_lease_ends(
    breakable: BreakableInstallation, evidence: GiveEvidence
) -> None:
    long: Any = {"RAGQ_LEASE_SECONDS": "600", "RAGQ_HUNG_SECONDS": "900"}
    worker = breakable.start_worker(include=HOLDING, TEST_HOLD_SECONDS="300", **long)
    run_id = breakable.submit(*evidence({316: 2}), "--few-shot-only", "--until", "extract")
    breakable.wait_until("SELECT EXISTS (SELECT FROM stage_run WHERE status = 'running')")
    os.killpg(worker.pid, signal.SIGKILL)
    breakable.start_worker()

    assert breakable.wait_for(run_id) == {"succeeded": 1}
    assert "died while it ran the stage" in breakable.inspect(run_id, "extract")[0]["error_message"]


def test_a_suspended_worker_loses_its_leases(breakable: BreakableInstallation, evidence: GiveEvidence) -> None:
    worker = breakable.start_worker(include=HOLDING, TEST_HOLD_SECONDS="300", **TIMES)
    run_id = breakable.submit(*evidence({316: 2}), "--few-shot-only", "--until", "extract")
    breakable.wait_until("SELECT EXISTS (SELECT FROM stage_run WHERE status = 'running')")
    worker.freeze()
    breakable.start_worker()

    assert breakable.wait_for(run_id) == {"succeeded": 1}
    assert breakable.attempts(run_id) == {(0, "extract"): ["interrupted", "succeeded"]}
