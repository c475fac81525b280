"""The scores of a participant run beside the truth."""

from pydantic import ValidationError

from schemas.errors import Refused, RunMissingError
from schemas.values.score_tables import ScoreTable
from stages.reports import score_table
from store.database import Connection
from store.runs import runs, score_rows


async def scores_of_run(connection: Connection, run_id: int) -> ScoreTable:
    """As `run_scores`. Raises RunMissingError too, and Refused for a run that scores no participants."""
    found = await run_scores(connection, run_id)
    if found is None and not await runs.exists(connection, run_id=run_id):
        raise RunMissingError(run_id)
    if found is None:
        raise Refused(f"Run r{run_id} scores no participants; `ragq show r{run_id}` shows what it does.")
    return found


async def run_scores(connection: Connection, run_id: int) -> ScoreTable | None:
    """The table of a run, finished or not; None where no job of it scores a participant.

    Raises Refused for scores that another version stored in another form.
    """
    try:
        jobs = await score_rows.scored_subjects(connection, run_id)
    except ValidationError:
        raise Refused(
            f"The scores of run r{run_id} were stored by another version of ragq and cannot be read; "
            "`ragq inspect JOB score` shows them as stored."
        ) from None
    return score_table.score_table(run_id, jobs) if jobs else None
