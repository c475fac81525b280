"""`ragq logs`."""

import subprocess
import sys
from pathlib import Path

import pytest

from stack.home import Home


def logs(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ragq")), "logs", *arguments]
    return subprocess.run(
        command, env={"RAGQ_HOME": str(home), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )


@pytest.mark.parametrize(("part", "code"), [("worker", 2), ("llm", 1)])
def test_an_unknown_part_is_wrong_usage_and_one_without_a_log_is_refused(tmp_path: Path, part: str, code: int) -> None:
    assert logs(tmp_path, part).returncode == code


def test_the_last_lines_are_shown(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    home.log("llm").write_text("one\ntwo\nthree\n")

    assert logs(tmp_path, "llm", "--lines", "2").stdout == "two\nthree\n"
