"""The health check of a container ends the worker that hangs, and no other."""

import signal
import subprocess
import sys

from tests.acceptance.harness import Installation

LIVE = "SELECT count(*) >= 2 FROM worker WHERE seen_at > now() - interval '10 seconds'"
SILENT = "SELECT EXISTS (SELECT FROM worker WHERE pid = $1 AND seen_at < now() - interval '10 seconds')"


def test_a_health_check_kills_the_worker_that_hangs(fresh: Installation) -> None:
    command = [sys.executable, "-m", "ragq", "worker", "--concurrency", "2"]
    environment = fresh.environment | {"RAGQ_HUNG_SECONDS": "10"}

    def health() -> int:
        check = [sys.executable, "-m", "stack.heartbeats"]
        return subprocess.run(check, env=environment, cwd=fresh.folder, capture_output=True, check=False).returncode

    with (
        subprocess.Popen(command, env=environment, cwd=fresh.folder) as hung,
        subprocess.Popen(command, env=environment, cwd=fresh.folder) as other,
    ):
        fresh.wait_until(LIVE)
        assert health() == 0
        hung.send_signal(signal.SIGSTOP)
        fresh.wait_until(SILENT, hung.pid)
        assert health() == 1
        assert hung.wait(10) == -signal.SIGKILL
        other.send_signal(signal.SIGTERM)
        assert other.wait(30) == 0
