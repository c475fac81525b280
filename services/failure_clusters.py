"""What goes wrong across runs, and what the models were asked and replied where it did."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from schemas.chains import STAGES
from schemas.errors import Refused, RunMissingError
from schemas.suggestions import did_you_mean
from schemas.values.failures import FailureCluster, FailurePlace
from store.database import Connection
from store.runs import failures, stored_runs
from store.views import AttemptTrace, attempt_traces

NEWEST_RUNS: Final = 20
"""Runs that are looked at where none is named."""

SHOWN_EXCHANGES: Final = 20
"""Failures whose prompts and replies are shown at a time."""


class FailedExchange(NamedTuple):
    """A failed attempt with its prompts and replies."""

    place: FailurePlace
    attempt: AttemptTrace


class Failures(NamedTuple):
    """The failures of some runs."""

    run_ids: list[int]
    clusters: list[FailureCluster]


async def failures_of(
    connection: Connection, run_ids: Sequence[int], *, stage: str | None = None, error_type: str | None = None
) -> Failures:
    """The failures of these runs, or of the newest, in clusters. Raises RunMissingError, and Refused for no stage."""
    _refuse_unknown_stage(stage)
    for run_id in run_ids:
        if not await stored_runs.exists(connection, run_id=run_id):
            raise RunMissingError(run_id)
    wanted = list(run_ids) or await failures.newest_runs(connection, NEWEST_RUNS)
    found = await failures.clusters(connection, wanted, stage=stage, error_type=error_type)
    return Failures(wanted, found)


async def exchanges(
    connection: Connection,
    run_ids: Sequence[int],
    *,
    stage: str | None = None,
    error_type: str | None = None,
    cause: str | None = None,
) -> list[FailedExchange]:
    """Such failures with the prompts and replies of their attempts: those that ended a job first, then the newest."""
    places = await failures.places(
        connection, run_ids, stage=stage, error_type=error_type, cause=cause, limit=SHOWN_EXCHANGES
    )
    found = []
    for place in places:
        tried = await attempt_traces(connection, place.job_id, place.stage)
        found += [FailedExchange(place, attempt) for attempt in tried if attempt.id == place.attempt_id]
    return found


async def jobs_that_failed_with(
    connection: Connection, run_id: int, *, stage: str | None, error_type: str | None
) -> list[int]:
    """The jobs of a run whose last failure is of this stage and type."""
    _refuse_unknown_stage(stage)
    return await failures.failed_jobs(connection, run_id, stage=stage, error_type=error_type)


def _refuse_unknown_stage(stage: str | None) -> None:
    if stage is not None and stage not in STAGES:
        raise Refused(f"There is no stage '{stage}'.{did_you_mean(stage, STAGES)} Stages: {', '.join(STAGES)}.")
