"""The next step of a question, as a button."""

from typing import Final, NamedTuple

from schemas.statuses import JobStatus, QueryStatus
from services.questions.steps import Step
from services.runs import Action
from store.questions.query_lines import QueryLine
from store.runs.job_progress import JobProgress


class Next(NamedTuple):
    """A button."""

    path: str
    """Relative to the address of the question."""
    label: str
    values: dict[str, str]
    """Hidden fields of its form."""


_LABELS: Final = {
    Step.EXPAND: "Expand",
    Step.EMBED: "Embed",
    Step.RETRIEVE: "Retrieve",
    Step.CONSOLIDATE: "Consolidate",
}
_STEPS: Final = {QueryStatus.NEEDS_RETRIEVAL: Step.RETRIEVE, QueryStatus.NEEDS_CONSOLIDATION: Step.CONSOLIDATE}


def next_step(line: QueryLine, progress: JobProgress) -> Next | None:
    """The next step to run; None while the job is unfinished, and when only the answer is left."""
    match line.job_status:
        case status if status.is_open:
            return None
        case JobStatus.FAILED | JobStatus.POISONED:
            return Next("decision", "Retry", {"action": Action.RETRY})
        case JobStatus.PAUSED:
            return Next("decision", "Resume", {"action": Action.RESUME})
    if line.status in (QueryStatus.NEEDS_EMBEDDINGS, QueryStatus.VEC_ERR):
        step = Step.EMBED if progress.is_done("expand") else Step.EXPAND
    elif line.status in _STEPS:
        step = _STEPS[line.status]
    else:
        return None
    return Next("steps", _LABELS[step], {"step": step})


def can_run_all(line: QueryLine) -> bool:
    """Whether all remaining stages can be run at once."""
    is_free = not line.job_status.is_open and line.job_status is not JobStatus.PAUSED
    return is_free and line.status is not QueryStatus.READY
