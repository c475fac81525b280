"""Evaluations: runs whose jobs judge the answers of another run."""

from collections.abc import Mapping
from typing import Any

from schemas.chains import CHAINS, settings_read, stages_of
from schemas.errors import Refused
from schemas.settings.preset import is_preset_name
from schemas.settings.run import settings_hash, thaw
from schemas.values.differences import RetrievalMeasures
from schemas.values.evaluations import EvaluationReport, JudgeQuality
from services.forks import changed_snapshot
from services.new_runs import Submitted, submit_run
from services.reports import cost_of_run
from stages.evaluations.judge import PROMPT_HASH, most_judgements
from stages.evaluations.labels import Judged, judge_quality, label_sheet, parse_labels
from stages.records import accept
from stages.reports.evaluation import evaluation_counts, evaluation_measures
from stages.reports.words import notices
from store.access import RequestKey
from store.database import Connection, Database
from store.questions import answers
from store.questions.answers import StoredAnswer
from store.runs import overviews, runs
from store.runs.chain import content_hash
from store.runs.failures import final_categories
from store.runs.runs import NewJob, NewRun

KIND = "evaluation"


async def evaluation_report(connection: Connection, run_id: int, *, measures: RetrievalMeasures) -> EvaluationReport:
    """The results of an evaluation. Raises MissingError, and Refused for a run of another kind."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.get(connection, run_id)
        if overview.kind != KIND:
            raise Refused(f"Run r{run_id} evaluates no answers. `ragq evaluate r{run_id}` submits a run that does.")
        judge = thaw(await runs.settings(connection, run_id)).run.model.judge_model
        scored = await answers.scored(connection, run_id)
        failures = await final_categories(connection, run_id)
        cost = await cost_of_run(connection, run_id)
    request = overview.request
    return EvaluationReport(
        run_id=f"r{run_id}",
        evaluates=f"r{request['evaluates']}",
        notices=tuple(notices(KIND, overview.profile, request)),
        judge=judge,
        counts=evaluation_counts(scored, unanswered=request["unanswered"]),
        measures=evaluation_measures(scored, measures),
        answers=tuple(scored),
        failures=failures,
        cost=cost,
    )


async def sheet_of_labels(connection: Connection, run_id: int) -> str:
    """A CSV of sentences of an evaluation for people to label. Raises MissingError, and Refused as `judged_run`."""
    return label_sheet(await judged_run(connection, run_id), seed=run_id)


async def quality_of_judge(connection: Connection, run_id: int, data: bytes, *, file: str) -> JudgeQuality:
    """The judge of an evaluation beside the labels of a sheet. Raises MissingError, ProblemsFound for a file that
    cannot be used, and Refused as `judged_run`."""
    verdicts = {
        (job_id, number): decision
        for job_id, _, judged in await judged_run(connection, run_id)
        for number, decision in judged.on_sources.items()
    }
    labels = parse_labels(data, file=file, known=verdicts)
    return judge_quality(verdicts, accept(labels, of="sheet of labels", consequence="nothing was computed"))


async def judged_run(connection: Connection, run_id: int) -> list[Judged]:
    """The judged answers of an evaluation. Raises MissingError, and Refused for a run without any."""
    overview = await overviews.get(connection, run_id)
    found = await answers.judged(connection, run_id)
    if overview.kind != KIND or not found:
        raise Refused(f"Run r{run_id} has no judged answers. `ragq evaluate RUN --wait` submits a run that has.")
    return found


async def evaluate(
    database: Database,
    run_id: int,
    values: Mapping[str, Any],
    *,
    always_new: bool = False,
    key: RequestKey | None = None,
) -> Submitted:
    """Store the evaluation of a run, or find it and retry its failed jobs. Raises as its plan and `submit_run` do."""
    run = await database.once(plan_evaluation, run_id, values)
    return await submit_run(database, run, always_new=always_new, key=key)


async def plan_evaluation(connection: Connection, run_id: int, values: Mapping[str, Any]) -> NewRun:
    """The evaluation of the newest answer of each question of a run, by the model that validates in that run. Its
    settings are those of the run, but for `values`. Raises MissingError, SettingsError for values that cannot be used,
    and Refused for a run without answers and for settings that no judge reads."""
    overview = await overviews.get(connection, run_id)
    if overview.kind != "query":
        raise Refused(
            f"Run r{run_id} answers no questions. `ragq runs` lists the runs with their kinds; those of kind query do."
        )
    reads = settings_read(KIND, "judge")
    of_others = {name for chain in CHAINS.values() for stage in chain for name in stage.reads} - reads
    if unread := [name for name in values if name in of_others or is_preset_name(name)]:
        raise Refused(f"No judge reads {unread[0]}. It reads {', '.join(sorted(reads))}.")
    snapshot = await runs.settings(connection, run_id)
    preset = thaw(snapshot).preset
    own = {name: entry for name, entry in snapshot.items() if not is_preset_name(name)}
    if preset is not None and preset.validation.model:
        own["MODEL_JUDGE_MODEL"] = {"value": preset.validation.model, "source": "preset"}
    settings = changed_snapshot(own, values)
    found = await answers.newest(connection, run_id)
    if not found:
        raise Refused(f"Run r{run_id} has no answer to evaluate. `ragq show r{run_id}` shows how far its jobs are.")
    references = sum(one.reference_answer is not None for one in found)
    return NewRun(
        kind=KIND,
        profile=overview.profile,
        settings=settings,
        settings_hash=settings_hash(thaw(settings).run),
        request={
            "evaluates": run_id,
            "answers": len(found),
            "unanswered": overview.jobs - len(found),
            "references": references,
            "profile_source": overview.request.get("profile_source"),
        },
        jobs=[_job(one) for one in found],
    )


def _job(found: StoredAnswer) -> NewJob:
    labels = [source.label for source in found.sources]
    reference = found.reference_answer
    inputs: dict[str, Any] = {
        "result_id": found.result_id,
        "answer_hash": content_hash(found.text),
        "query_hash": content_hash(found.question),
        "prompt_hash": PROMPT_HASH,
        "verdicts_at_most": most_judgements(found.text, labels, reference),
    }
    if reference is not None:
        inputs["reference_hash"] = content_hash(reference)
    return NewJob(mode="answers", subject=found.subject, inputs=inputs, stages=stages_of(KIND, "answers"))
