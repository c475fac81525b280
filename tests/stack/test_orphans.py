import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack.home import Home, Part, State
from stack.status import end_orphans, find_orphans

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@contextmanager
def sleeping(folder: Path) -> Iterator[int]:
    with subprocess.Popen(SLEEP, cwd=folder) as process:
        yield process.pid
        process.kill()


def state(started: float, command: list[str] = SLEEP) -> State:
    parts = {"valkey": Part(name="valkey", command=command)}
    return State(started=started, servers={}, flower_url=None, parts=parts)


def test_a_recorded_command_inside_the_home_is_ours(tmp_path: Path) -> None:
    started = time.time()
    with sleeping(tmp_path) as pid:
        assert find_orphans(Home(tmp_path), state(started)) == {pid: "valkey"}


def test_the_same_command_elsewhere_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    started = time.time()
    with sleeping(tmp_path):
        assert find_orphans(Home(tmp_path / "home"), state(started)) == {}


def test_a_process_older_than_the_stack_is_not_ours(tmp_path: Path) -> None:
    with sleeping(tmp_path):
        assert find_orphans(Home(tmp_path), state(time.time() + 10)) == {}


def test_ended_orphans_are_named(tmp_path: Path) -> None:
    started = time.time()
    with sleeping(tmp_path):
        assert end_orphans(Home(tmp_path), state(started)) == ["valkey"]
        assert find_orphans(Home(tmp_path), state(started)) == {}
