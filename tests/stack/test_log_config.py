"""The lines of ragq's processes, from its own code and from libraries."""

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import logging, structlog
from stack import logs

logs.configure("{level}", "json")
log = structlog.get_logger("ragq.stages")
log.debug("stage_started", job_id=1)
log.info("stage_stored", job_id=1)
logging.getLogger("asyncio").warning("slow")
logging.getLogger("celery").info("received")
"""
LINES: dict[str, dict[str, Any]] = {
    "stage_started": {"job_id": 1, "logger": "ragq.stages", "level": "debug"},
    "stage_stored": {"job_id": 1, "logger": "ragq.stages", "level": "info"},
    "slow": {"logger": "asyncio", "level": "warning"},
}


@pytest.mark.parametrize(("level", "first"), [("DEBUG", 0), ("INFO", 1), ("WARNING", 2)])
def test_lines_of_ragq_and_of_libraries_have_one_shape_and_those_below_the_level_are_dropped(
    level: str, first: int
) -> None:
    program = [sys.executable, "-c", PROGRAM.format(level=level)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)

    found = [json.loads(line) for line in done.stderr.splitlines()]
    assert all(line.pop("timestamp") for line in found)
    assert found == [{"event": event, **facts} for event, facts in list(LINES.items())[first:]]
    assert done.stdout == ""
