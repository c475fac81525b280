"""The lines of ragq's processes, from its own code and from libraries."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, structlog
from stack import logs

logs.configure("{level}", "{log_format}")
log = structlog.get_logger("ragq.stages")
log.debug("stage_started", job_id=1)
log.info("stage_stored", job_id=1)
logging.getLogger("asyncio").warning("slow")
logging.getLogger("celery").info("received")
"""


def lines(level: str, log_format: str) -> list[str]:
    """What a process writes to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(level=level, log_format=log_format)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("level", "events"),
    [
        ("DEBUG", ["stage_started", "stage_stored", "slow"]),
        ("INFO", ["stage_stored", "slow"]),
        ("WARNING", ["slow"]),
    ],
)
def test_lines_below_the_level_are_dropped(level: str, events: list[str]) -> None:
    assert [json.loads(line)["event"] for line in lines(level, "json")] == events


def test_lines_of_ragq_and_of_libraries_have_one_shape() -> None:
    own, foreign = (json.loads(line) for line in lines("INFO", "json"))
    assert {**own, "timestamp": ""} == {
        "job_id": 1,
        "event": "stage_stored",
        "logger": "ragq.stages",
        "level": "info",
        "timestamp": "",
    }
    assert (foreign["event"], foreign["logger"], foreign["level"]) == ("slow", "asyncio", "warning")
