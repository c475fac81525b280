"""The reports of evaluations, apart from their submission, which imports far more."""

from collections import Counter

from schemas.errors import Refused, RunMissingError
from schemas.settings.frozen import thaw
from schemas.values.evaluation_reports import EvaluationReport, MeasuredValidator
from schemas.values.evaluations import EvaluatedRun
from schemas.values.measures import RetrievalMeasures
from services.costs import cost_of_run
from stages.reports.evaluation import build_evaluation_report
from stages.reports.retrieval import is_judged
from stages.reports.validator_quality import validator_quality
from store.database import Connection
from store.questions import evaluations, query_runs
from store.runs import overviews, stored_runs
from store.runs.failures import run_failures

KIND = "evaluation"


async def evaluation_report(connection: Connection, run_id: int, *, measures: RetrievalMeasures) -> EvaluationReport:
    """The results of an evaluation. Raises RunMissingError, and Refused for a run of another kind."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.overview(connection, run_id)
        failures = await run_failures(connection, run_id)
        if overview is None or failures is None:
            raise RunMissingError(run_id)
        if overview.kind != KIND:
            raise Refused(f"Run r{run_id} evaluates no answers. `ragq evaluate r{run_id}` submits a run that does.")
        settings = thaw(await stored_runs.settings(connection, run_id)).run
        answers = await evaluations.scored(connection, run_id)
        cost = await cost_of_run(connection, run_id)
    found = EvaluatedRun(
        run_id=run_id,
        profile=overview.profile,
        request=overview.request,
        judge=settings.model.judge_model,
        answers=tuple(answers),
        failures=dict(Counter(attempt.category for attempt in failures.failed if attempt.is_final).most_common()),
        cost=cost,
    )
    validator = await _measured_validator(connection, found, measures)
    return build_evaluation_report(found, validator, measures=measures)


async def _measured_validator(
    connection: Connection, found: EvaluatedRun, measures: RetrievalMeasures
) -> MeasuredValidator | None:
    """The quality of the judge as a validator of passages; None where no judged run was validated by it."""
    run_id = await evaluations.validated_run(connection, found.judge, first=found.request["evaluates"])
    run = None if run_id is None else await query_runs.query_run(connection, run_id)
    if run is None:
        return None
    judged = [query for query in run.queries if is_judged(query) and query.validator == found.judge]
    quality = validator_quality(judged, run.documents, measures=measures)
    return None if quality is None else MeasuredValidator(run=f"r{run.run_id}", quality=quality)
