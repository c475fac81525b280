"""The scores of a participant run beside the truth."""

from schemas.errors import Refused, RunMissingError
from schemas.values.score_tables import ScoreTable
from stages.reports import score_table
from store.database import Connection
from store.runs import run_figures, stored_runs


async def scores_of_run(connection: Connection, run_id: int) -> ScoreTable:
    """As `run_scores`. Raises RunMissingError too, and Refused for a run that scores no participants."""
    found = await run_scores(connection, run_id)
    if found is None and not await stored_runs.exists(connection, run_id=run_id):
        raise RunMissingError(run_id)
    if found is None:
        raise Refused(f"Run r{run_id} scores no participants; `ragq show r{run_id}` shows what it does.")
    return found


async def run_scores(connection: Connection, run_id: int) -> ScoreTable | None:
    """The table of a run, finished or not; None where no job of it scores a participant.

    Raises Refused for scores that another version stored in another form.
    """
    found = await run_figures.job_scores(connection, [run_id])
    jobs = [job for job in found.get(run_id, ()) if job.is_to_score]
    if not jobs:
        return None
    return score_table.score_table(run_id, jobs, await stored_runs.baseline(connection, run_id))
