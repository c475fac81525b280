"""What a process reports of its environment, and what it keeps to itself."""

import getpass
import platform
import socket
import subprocess
from pathlib import Path

from stack import home
from stack.home import this_environment


def test_versions_and_hardware_are_named() -> None:
    found = this_environment()

    assert found.python == platform.python_version()
    assert {"numpy", "torch", "pydantic", "pgvector", "celery", "sentence-transformers"} <= found.packages.keys()
    assert found.cpu
    assert found.cores


def test_no_host_user_or_folder_is_named() -> None:
    text = this_environment().model_dump_json()

    assert str(Path.home()) not in text
    assert socket.gethostname() not in text or socket.gethostname() in platform.platform()
    assert f'"{getpass.getuser()}"' not in text


def test_a_checkout_has_a_commit_and_whether_it_has_changes(tmp_path: Path) -> None:
    def git(*command: str) -> str:
        return subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org", *command],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    assert home._commit(tmp_path) == (None, None)
    git("init")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "one")

    assert home._commit(tmp_path) == (git("rev-parse", "HEAD"), False)
    (tmp_path / "file").write_text("2")
    assert home._commit(tmp_path) == (git("rev-parse", "HEAD"), True)
