"""The script behind `make demo`, over a `ragq` that only writes down how it was called."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "demo" / "run.sh"
FAKE = """#!/bin/sh
echo "$*" >> "$RAGQ_HOME/called"
case "$1" in
    submit) printf '{\\n  "run": "r7",\\n  "jobs": 6\\n}\\n' ;;
    watch) [ -z "$WATCH" ] || exec sleep "$WATCH" ;;
esac
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    fake = tmp_path / "ragq"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "RAGQ_HOME": str(tmp_path), "DATABASE_URL": "postgresql://elsewhere"}


def test_a_split_is_scored_and_a_question_answered(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(["sh", str(SCRIPT)], env=environment, capture_output=True, text=True, check=True)

    page = tmp_path / "report.html"
    assert (tmp_path / "called").read_text().splitlines() == [
        "up --no-api --no-flower",
        f"demo-data {tmp_path}/interviews",
        f"import participants {tmp_path}/interviews",
        "index references --split paper-train --wait",
        "submit --split paper-test --json",
        "watch r7",
        f"report r7 --html {page}",
        f"demo-data --works {tmp_path}/works",
        f"import works {tmp_path}/works --corpus shelf --wait",
        "ask Why does black tea turn dark?",
        "down",
    ]
    assert f"The report with plots is {page}" in done.stdout
    assert [line.split("#")[0].split() for line in done.stdout.splitlines() if line.startswith("  ragq")] == [
        ["ragq", "up"],
        ["ragq", "show", "r7"],
        ["ragq", "down"],
    ]
    assert "/ui/runs/7" in done.stdout


def test_a_demo_that_is_interrupted_stops_its_servers(tmp_path: Path, environment: dict[str, str]) -> None:
    demo = subprocess.Popen(["sh", str(SCRIPT)], env={**environment, "WATCH": "1"}, stderr=subprocess.DEVNULL)
    called = tmp_path / "called"
    deadline = time.monotonic() + 30
    while not (called.exists() and "watch r7" in called.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)

    demo.send_signal(signal.SIGTERM)

    assert demo.wait(30) == 143
    assert called.read_text().splitlines()[-1] == "down"
