"""The scores that a training split gives without any transcript, kept with each run that they are shown beside."""

from collections.abc import Collection, Mapping
from typing import Any

from schemas.errors import Refused, RunMissingError
from schemas.settings.frozen import thaw
from schemas.values.metrics import ScorerComparison, ScoreTable
from schemas.values.participants import AssessmentMode
from schemas.values.runs import ScoredRun
from stages.evaluations.scorers import Evidence, fitted_scores, scorer_errors
from stages.participants.score_by_neighbours import baseline_record
from stages.participants.split_names import sources, training_name
from stages.reports import score_table
from stages.reports.report import measures_of
from stages.reports.results import cohort_of_jobs, ground_truth, jobs_of
from store.database import Connection
from store.references import interviews, search
from store.references.references import StoredIndex
from store.runs import run_view, stored_runs
from store.views import reported_run


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


async def compare_scorers(connection: Connection, run_id: int) -> ScorerComparison:
    """The few-shot scores of a run beside those of each scorer, on the same evidence and the same reference index.

    Nobody whom the run assesses, or of the same split, is among those that the scorers are fitted on. Raises
    RunMissingError, and Refused for a run without few-shot scores, and for an index without evidence.
    """
    run = await reported_run(connection, run_id)
    jobs = jobs_of(run, AssessmentMode.FEW_SHOT) if isinstance(run, ScoredRun) else ()
    cohort = cohort_of_jobs(jobs)
    if not isinstance(run, ScoredRun) or not cohort.subjects or not run.indexes:
        raise Refused(f"Run r{run_id} has no few-shot scores beside stored labels; `ragq runs` lists those that have.")
    index = next(one for one in run.indexes if one.id == jobs[0].index_id)
    # As in the search: everybody of the split, also beyond its limit.
    excluded = await stored_runs.excluded(connection, run_id)
    indexed = await search.of_index(connection, index.id)
    training = [
        Evidence(number, truth, one.vectors)
        for number, one in indexed.items()
        if number not in excluded and (truth := ground_truth(one.items).items) is not None
    ]
    if not any(one.vectors for one in training):
        raise Refused(
            f"Reference index '{index.name}' of run r{run_id} has no evidence of its participants. `ragq index "
            "references` builds one that has, with --profile local or --set RAGQ_SCORER=neighbours; then submit again."
        )
    said = await search.of_run(connection, run_id)
    people = [
        Evidence(one.participant_id, one.truth, said[one.participant_id].vectors if one.participant_id in said else {})
        for one in cohort.subjects
    ]
    settings = thaw(await stored_runs.settings(connection, run_id)).run
    measures = measures_of(run.settings, {})
    fitted = fitted_scores(people, training, neighbours=settings.ragq.neighbours)
    return ScorerComparison(
        run_id=f"r{run_id}",
        split=run.request.get("split"),
        participants=len(cohort),
        trained_on=training_name(index.split),
        training_participants=len(training),
        neighbours=settings.ragq.neighbours,
        alphas=fitted.alphas,
        bootstrap_resamples=measures.bootstrap_resamples,
        bootstrap_seed=measures.bootstrap_seed,
        scorers=scorer_errors(cohort, fitted.scores, measures=measures),
    )


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
