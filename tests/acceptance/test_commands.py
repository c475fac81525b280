"""The forked `ragq` of shell scripts does what the installed script does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.commands import forked_ragq
from tests.acceptance.harness import Installation

INSTALLED = Path(sys.executable).parent

#: Usage, a refusal, a file from standard input, a variable, a reader that ends early, and a folder.
SCRIPT = """
ragq --version; echo "code $?"
ragq nonsense; echo "code $?"
ragq show r999 --json; echo "code $?"
echo not json | ragq submit --queries - --corpus none; echo "code $?"
DATABASE_URL=nowhere ragq runs; echo "code $?"
ragq --help | head -n 2; echo "code ${PIPESTATUS[*]}"
mkdir elsewhere; cd elsewhere; ragq demo-data --works works; ls
"""
CONNECTED = (
    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())"
)


@pytest.fixture(scope="module")
def forked() -> Iterator[Path]:
    """The folder of the forked program."""
    with forked_ragq() as folder:
        yield folder


def run(script: str, programs: Path, installation: Installation, folder: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    environment = installation.environment | {"PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_it_prints_and_ends_as_the_installed_script(forked: Path, shared: Installation, tmp_path: Path) -> None:
    ours, real = (run(SCRIPT, path, shared, tmp_path / path.name) for path in (forked, INSTALLED))

    assert ours.stdout == real.stdout
    assert ours.stderr == real.stderr
    assert {line for line in ours.stdout.splitlines() if line.startswith("code")} >= {"code 0", "code 1", "code 2"}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_a_signal_ends_the_command_and_then_the_program(
    number: signal.Signals, code: int, forked: Path, fresh: Installation
) -> None:
    watched = fresh.submit("--split", "paper-test", "--few-shot-only", "--limit", "1")
    command = [str(forked / "ragq"), "watch", f"r{watched}"]
    with subprocess.Popen(command, env=fresh.environment) as program:
        fresh.wait_until(CONNECTED)
        program.send_signal(number)
    assert program.returncode == code
