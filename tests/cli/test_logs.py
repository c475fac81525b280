"""`ragq logs`."""

import subprocess
import sys
from pathlib import Path

from stack.home import Home


def logs(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("ragq")), "logs", *arguments]
    return subprocess.run(
        command, env={"RAGQ_HOME": str(home), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )


def test_the_last_lines_are_shown_and_a_part_that_is_unknown_or_has_no_log_is_refused(tmp_path: Path) -> None:
    assert [logs(tmp_path, part).returncode for part in ("worker", "llm")] == [2, 1]

    home = Home(tmp_path)
    home.make()
    home.log("llm").write_text("one\ntwo\nthree\n")

    assert logs(tmp_path, "llm", "--lines", "2").stdout == "two\nthree\n"
