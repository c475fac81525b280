"""The scores that a training split gives without any transcript, kept with each run that they are shown beside."""

from collections.abc import Collection, Mapping
from typing import Any

from schemas.errors import Refused, RunMissingError
from schemas.values.metrics import ScoreTable
from stages.participants.score_by_neighbours import baseline_record
from stages.participants.split_names import sources, training_name
from stages.reports import score_table
from store.database import Connection
from store.references import interviews
from store.references.references import StoredIndex
from store.runs import run_view, stored_runs


def of_index(index: StoredIndex, labels: Collection[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Part of a run's request: the baseline of labels that a reference index has; empty without labels."""
    record = baseline_record(training_name(index.split), labels)
    return {} if record is None else {"baseline": record}


async def of_first_split(connection: Connection, data_set: str, *, without: Collection[int]) -> dict[str, Any]:
    """Part of a run's request: the baseline of the likeliest training split of a data set that has none of these."""
    for source in sources(await interviews.stored_splits(connection)):
        if source.data_set != data_set:
            continue
        members = await interviews.members(connection, data_set, source.name)
        if {member.participant_id for member in members} & {*without}:
            continue
        labels = [
            None if one.items is None else {item.evidence_key: score for item, score in one.items.items()}
            for one in members
        ]
        if (record := baseline_record(source.called, labels)) is not None:
            return {"baseline": record}
    return {}


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
    found = await run_view.job_scores(connection, [run_id])
    jobs = [job for job in found.get(run_id, ()) if job.is_to_score]
    if not jobs:
        return None
    return score_table.score_table(run_id, jobs, await stored_runs.baseline(connection, run_id))
