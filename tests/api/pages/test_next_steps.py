"""The buttons for the next steps of a question."""

from datetime import UTC, datetime

import pytest

from api.pages.forms import can_run_all, next_step
from schemas.statuses import JobStatus, QueryStatus, StageStatus, VectorStatus
from schemas.values.documents import WorkFilter
from store.questions.queries import QueryLine
from store.runs.jobs import JobProgress
from store.runs.stage_vectors import StageRun


def line(job_status: JobStatus, status: QueryStatus) -> QueryLine:
    return QueryLine(
        id=1,
        job_id=1,
        run_id=1,
        corpus="small",
        corpora=["small"],
        works=WorkFilter(),
        preset="Balanced",
        original_query="Why?",
        created_at=datetime.now(UTC),
        updated_at=datetime.now(UTC),
        job_status=job_status,
        status=status,
        vector_status=VectorStatus.VEC,
        has_retrieved_context=False,
        has_clean_context=False,
        intent=None,
        entities_count=0,
        results_count=0,
    )


def progress(expand: StageStatus) -> JobProgress:
    return JobProgress(stages=[StageRun(stage="expand", status=expand, attempts=1, seconds=None)], error=None)


@pytest.mark.parametrize(
    ("job_status", "status", "label"),
    [
        (JobStatus.SUCCEEDED, QueryStatus.NEEDS_EMBEDDINGS, "Embed"),
        (JobStatus.SUCCEEDED, QueryStatus.NEEDS_RETRIEVAL, "Retrieve"),
        (JobStatus.SUCCEEDED, QueryStatus.NEEDS_CONSOLIDATION, "Consolidate"),
        (JobStatus.SUCCEEDED, QueryStatus.READY, None),
        (JobStatus.CANCELLED, QueryStatus.NEEDS_RETRIEVAL, "Retrieve"),
        (JobStatus.FAILED, QueryStatus.VEC_ERR, "Retry"),
        (JobStatus.FAILED, QueryStatus.READY, "Retry"),
        (JobStatus.POISONED, QueryStatus.NEEDS_RETRIEVAL, "Retry"),
        (JobStatus.PAUSED, QueryStatus.NEEDS_RETRIEVAL, "Resume"),
        (JobStatus.WAITING, QueryStatus.NEEDS_RETRIEVAL, None),
        (JobStatus.RUNNING, QueryStatus.NEEDS_RETRIEVAL, None),
        (JobStatus.INTERRUPTED, QueryStatus.NEEDS_RETRIEVAL, None),
    ],
)
def test_the_next_step_follows_from_the_job_and_from_what_is_stored(
    job_status: JobStatus, status: QueryStatus, label: str | None
) -> None:
    found = next_step(line(job_status, status), progress(StageStatus.DONE))

    assert (None if found is None else found.label) == label


@pytest.mark.parametrize(
    ("job_status", "status", "can"),
    [
        (JobStatus.SUCCEEDED, QueryStatus.NEEDS_RETRIEVAL, True),
        (JobStatus.FAILED, QueryStatus.VEC_ERR, True),
        (JobStatus.SUCCEEDED, QueryStatus.READY, False),
        (JobStatus.RUNNING, QueryStatus.NEEDS_RETRIEVAL, False),
        (JobStatus.PAUSED, QueryStatus.NEEDS_RETRIEVAL, False),
    ],
)
def test_remaining_stages_can_be_run_when_idle(job_status: JobStatus, status: QueryStatus, can: bool) -> None:
    assert can_run_all(line(job_status, status)) is can
