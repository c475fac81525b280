"""The folder of a stack, its files, and what is known of the machine."""

import fcntl
import getpass
import os
import platform
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from schemas.errors import StackError
from stack import home
from stack.home import Home, Part, State, find_home, kept_password, this_environment, write_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_roots_home_is_where_other_users_can_pass() -> None:
    expected = Path("/var/lib/ragq") if os.geteuid() == 0 else Path.home()
    assert find_home({}).folder.is_relative_to(expected)


def test_the_state_is_read_as_it_was_written_private_and_one_of_another_making_is_refused(tmp_path: Path) -> None:
    servers = {"DATABASE_URL": "postgresql://ragq:pw@127.0.0.1:1/ragq"}
    parts = {"postgres": Part(name="postgres", command=["postgres", "-D", "x"], port=1)}
    state = State(started=12.5, servers=servers, flower_url=None, parts=parts)
    Home(tmp_path).write_state(state)
    assert Home(tmp_path).read_state() == state
    assert mode(tmp_path / "state.json") == 0o600
    for text in ("", "[]", '{"parts": {}}', '{"parts": {"postgres": {"pid": 1}}}'):
        (tmp_path / "state.json").write_text(text)
        with pytest.raises(StackError, match=r"state\.json cannot be read .* run `ragq up`"):
            Home(tmp_path).read_state()


def test_a_supervisor_is_looked_for_by_its_pid_file_and_one_holds_the_lock(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.locked(), (tmp_path / "lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not home.is_supervised()
    home.supervisor_pid.write_text(f"{os.getpid()}\n")
    assert home.is_supervised()
    home.supervisor_pid.write_text("no number")
    assert not home.is_supervised()


def test_a_socket_in_a_deep_home_gets_a_short_private_path(tmp_path: Path) -> None:
    deep = Home(tmp_path / ("deep" * 30))
    deep.make()
    assert len(os.fsencode(deep.supervisor_socket)) <= 90
    assert mode(deep.supervisor_socket.parent) == 0o700
    assert Home(tmp_path / "x" / ("deep" * 30)).supervisor_socket != deep.supervisor_socket
    deep.supervisor_socket.parent.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused_with_its_owner(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, -1)
    with pytest.raises(StackError, match=r"cannot be used: .*\. Set RAGQ_HOME to a folder of your own"):
        Home(tmp_path).make()


def test_a_private_file_is_readable_by_its_owner_alone_and_a_password_made_once(tmp_path: Path) -> None:
    key = tmp_path / "key"
    write_private(key, "first")
    write_private(key, "second")
    assert (key.read_text(), mode(key), [*tmp_path.iterdir()]) == ("second", 0o600, [key])

    first = kept_password(tmp_path / "password")
    assert (len(first), kept_password(tmp_path / "password")) == (48, first)


def test_versions_and_hardware_are_named_and_no_host_user_or_folder() -> None:
    found = this_environment()
    text = found.model_dump_json()

    assert found.python == platform.python_version()
    assert {"numpy", "torch", "pydantic", "pgvector", "celery", "sentence-transformers"} <= found.packages.keys()
    assert found.cpu and found.cores
    assert str(Path.home()) not in text
    assert socket.gethostname() not in text or socket.gethostname() in platform.platform()
    assert f'"{getpass.getuser()}"' not in text


def test_a_checkout_has_a_commit_and_whether_it_has_changes(tmp_path: Path) -> None:
    def git(*command: str) -> str:
        named = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
        return subprocess.run([*named, *command], check=True, capture_output=True, text=True).stdout.strip()

    assert home._commit(tmp_path) == (None, None)
    git("init")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "one")

    assert home._commit(tmp_path) == (git("rev-parse", "HEAD"), False)
    (tmp_path / "file").write_text("2")
    assert home._commit(tmp_path) == (git("rev-parse", "HEAD"), True)
