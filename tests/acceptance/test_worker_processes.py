"""A worker of several processes shares the stages of a run, and ends as one."""

import signal
import subprocess
import sys

import psutil

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import eventually
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedReply

WORKED = """
SELECT DISTINCT w.pid FROM stage_attempt AS a
JOIN worker AS w ON w.id = a.worker_id JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1
"""
LIVE = "SELECT count(*) >= 2 FROM worker WHERE seen_at > now() - interval '10 seconds'"


def test_two_processes_share_a_run_and_end_together(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=0.3)
    command = [sys.executable, "-m", "ragq", "worker", "--processes", "2", "--concurrency", "2"]
    with subprocess.Popen(command, env=fresh.environment, cwd=fresh.folder) as worker:
        fresh.wait_until(LIVE)
        run_id = fresh.submit(*evidence({316: 1, 319: 1, 330: 1}), *judged_by(judge.name))

        assert fresh.wait_for(run_id) == {"succeeded": 3}
        assert len(fresh.rows(WORKED, run_id)) == 2
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0


def test_a_health_check_asks_every_process(fresh: Installation) -> None:
    command = [sys.executable, "-m", "ragq", "worker", "--processes", "2", "--concurrency", "2"]
    health = [sys.executable, "-m", "workers.health"]

    def found() -> tuple[int, str]:
        done = subprocess.run(
            health, env=fresh.environment, cwd=fresh.folder, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr.strip()

    assert found() == (1, "no worker runs here")
    with subprocess.Popen(command, env=fresh.environment, cwd=fresh.folder) as worker:
        fresh.wait_until(LIVE)
        eventually(lambda: found() == (0, ""))
        for process in psutil.Process(worker.pid), psutil.Process(worker.pid).children()[0]:
            process.suspend()
            assert f"process {process.pid}" in found()[1]
            process.resume()
        eventually(lambda: found() == (0, ""))
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
