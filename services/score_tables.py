"""The scores of a participant run beside the truth."""

from schemas.values.score_tables import ScoreTable
from stages.reports import score_table
from store.database import Connection
from store.runs import score_rows


async def run_scores(connection: Connection, run_id: int) -> ScoreTable | None:
    """The table of a run, finished or not; None where no job of it scores a participant."""
    jobs = await score_rows.scored_subjects(connection, run_id)
    return score_table.score_table(run_id, jobs) if jobs else None
