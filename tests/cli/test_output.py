"""JSON on standard output."""

import json
from typing import Any

import pytest

from cli.output import print_json
from schemas.statuses import JobStatus
from schemas.values.failures import StageFailure
from tests.cli.test_run_table import ERROR, job


def test_a_job_is_one_object_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(job(7, JobStatus.FAILED, ERROR))
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)

    assert (printed["job_id"], printed["status"]) == (7, "failed")
    assert printed["error"] == {name: getattr(ERROR, name) for name in StageFailure.model_fields}
