"""The buttons that bring a question on."""

from datetime import UTC, datetime

import pytest

from api.pages.next_steps import can_run_all, next_step
from schemas.statuses import JobStatus, StageStatus
from store.questions.queries import QueryLine
from store.runs.job_progress import JobProgress
from store.runs.run_view import StageView


def line(job_status: JobStatus, status: str) -> QueryLine:
    return QueryLine(
        id=1,
        job_id=1,
        run_id=1,
        original_query="Why?",
        created_at=datetime.now(UTC),
        updated_at=datetime.now(UTC),
        job_status=job_status,
        status=status,
        vector_status="vec",
        has_retrieved_context=False,
        has_clean_context=False,
        intent=None,
        entities=0,
        results=0,
    )


def progress(expand: StageStatus) -> JobProgress:
    return JobProgress(stages=[StageView(stage="expand", status=expand, attempts=1, seconds=None)], error=None)


@pytest.mark.parametrize(
    ("job_status", "status", "label"),
    [
        (JobStatus.SUCCEEDED, "needs_embeddings", "Embed"),
        (JobStatus.SUCCEEDED, "needs_retrieval", "Retrieve"),
        (JobStatus.SUCCEEDED, "needs_consolidation", "Consolidate"),
        (JobStatus.SUCCEEDED, "ready", None),
        (JobStatus.CANCELLED, "needs_retrieval", "Retrieve"),
        (JobStatus.FAILED, "vec_err", "Retry"),
        (JobStatus.FAILED, "ready", "Retry"),
        (JobStatus.POISONED, "needs_retrieval", "Retry"),
        (JobStatus.PAUSED, "needs_retrieval", "Resume"),
        (JobStatus.WAITING, "needs_retrieval", None),
        (JobStatus.RUNNING, "needs_retrieval", None),
        (JobStatus.INTERRUPTED, "needs_retrieval", None),
    ],
)
def test_the_next_step_follows_from_the_job_and_from_what_is_stored(
    job_status: JobStatus, status: str, label: str | None
) -> None:
    found = next_step(line(job_status, status), progress(StageStatus.DONE))

    assert (None if found is None else found.label) == label


def test_what_was_never_expanded_is_expanded_first() -> None:
    found = next_step(line(JobStatus.CANCELLED, "needs_embeddings"), progress(StageStatus.READY))

    assert found is not None and found.label == "Expand"


@pytest.mark.parametrize(
    ("job_status", "status", "can"),
    [
        (JobStatus.SUCCEEDED, "needs_retrieval", True),
        (JobStatus.FAILED, "vec_err", True),
        (JobStatus.SUCCEEDED, "ready", False),
        (JobStatus.RUNNING, "needs_retrieval", False),
        (JobStatus.PAUSED, "needs_retrieval", False),
    ],
)
def test_all_that_is_left_can_be_asked_for_at_rest(job_status: JobStatus, status: str, can: bool) -> None:
    assert can_run_all(line(job_status, status)) is can
