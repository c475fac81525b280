"""A worker of several processes shares the stages of a run, and ends as one."""

import json
import signal
import subprocess
import sys

import psutil

from schemas.values.participants import PHQ8Item
from tests.acceptance.harness import Installation, extracted_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

WORKED = """
SELECT DISTINCT w.pid FROM stage_attempt AS a
JOIN worker AS w ON w.id = a.worker_id JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1
"""
LIVE = "SELECT count(*) >= 2 FROM worker WHERE seen_at > now() - interval '10 seconds'"
NO_EVIDENCE = json.dumps({item.evidence_key: [] for item in PHQ8Item})
SILENT = "SELECT EXISTS (SELECT FROM worker WHERE pid = $1 AND seen_at < now() - interval '10 seconds')"


def test_two_processes_share_a_run_and_end_together(fresh: Installation, judge: ScriptedModel) -> None:
    """Three calls at once: a process makes two."""
    judge.answer = lambda prompt: ScriptedReply(NO_EVIDENCE, delay_s=2)
    command = [sys.executable, "-m", "ragq", "worker", "--processes", "2", "--concurrency", "2"]
    with subprocess.Popen(command, env=fresh.environment, cwd=fresh.folder) as worker:
        fresh.wait_until(LIVE)
        run_id = fresh.submit("--participants", "316,319,330", "--zero-shot-only", *extracted_by(judge.name))

        assert fresh.wait_for(run_id) == {"succeeded": 3}
        assert len(fresh.rows(WORKED, run_id)) == 2
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0


def test_a_health_check_kills_the_process_that_hangs_and_another_is_started(fresh: Installation) -> None:
    command = [sys.executable, "-m", "ragq", "worker", "--processes", "2", "--concurrency", "2"]
    environment = fresh.environment | {"RAGQ_HUNG_SECONDS": "10"}

    def health() -> int:
        check = [sys.executable, "-m", "stack.heartbeats"]
        return subprocess.run(check, env=environment, cwd=fresh.folder, capture_output=True, check=False).returncode

    with subprocess.Popen(command, env=environment, cwd=fresh.folder) as worker:
        fresh.wait_until(LIVE)
        hung, other = psutil.Process(worker.pid).children()
        assert health() == 0
        hung.suspend()
        fresh.wait_until(SILENT, hung.pid)
        assert health() == 1
        eventually(lambda: len(psutil.Process(worker.pid).children()) == 2)
        assert not hung.is_running()
        assert other.is_running()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
