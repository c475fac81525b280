"""A scored run is read whole."""

from typing import Any

from schemas.statuses import JobStatus
from schemas.values.differences import Measures
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.runs import ScoredJob, ScoredRun, SettingValue
from stages.participants.validate import keep_all
from stages.reports.report import build_report
from store.database import Connection
from store.runs import job_control, runs, scored_runs
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import labels, scores
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, committing, end, import_labels, store_scored_run, take

ZERO_SHOT, FEW_SHOT = AssessmentMode


async def read(connection: Connection, run_id: int) -> ScoredRun:
    found = await scored_runs.scored_run(connection, run_id)
    assert found is not None
    return found


async def test_each_job_is_read_with_its_scores_and_labels(connection: Connection) -> None:
    await import_labels(connection, {316: labels("10320102"), 319: None})
    run_id = await store_scored_run(
        connection,
        {("zero_shot", 316): scores("1023"), ("zero_shot", 319): TIMED_OUT, ("few_shot", 330): None},
        settings={"LLM_BACKEND": "ollama"},
    )

    found = await read(connection, run_id)

    first = found.jobs[0].job_id
    common = {"index_id": None, "embedding_digest": None, "embedding_dtype": None, "ranked": None, "validated": None}
    assert found.jobs == (
        ScoredJob(
            job_id=first,
            mode=ZERO_SHOT,
            participant_id=316,
            status=JobStatus.SUCCEEDED,
            scores=scores("1023"),
            labels=labels("10320102"),
            **common,
        ),
        ScoredJob(
            job_id=first + 1,
            mode=ZERO_SHOT,
            participant_id=319,
            status=JobStatus.FAILED,
            scores=None,
            labels=None,
            **common,
        ),
        ScoredJob(
            job_id=first + 2,
            mode=FEW_SHOT,
            participant_id=330,
            status=JobStatus.WAITING,
            scores=None,
            labels=None,
            **common,
        ),
    )
    assert found.settings == {"LLM_BACKEND": SettingValue(value="ollama", source="option")}
    assert [(attempt.job_id - first, attempt.stage) for attempt in found.attempts] == [
        (0, "extract"),
        (0, "score"),
        (1, "extract"),
        (1, "score"),
    ]


async def test_references_and_telemetry_are_read_from_the_outputs_that_count(connection: Connection) -> None:
    references = ranked({PHQ8Item.SLEEP: (reference(),)}).model_copy(update={"dropped": {PHQ8Item.SLEEP: {"tags": 9}}})
    outputs: dict[str, dict[str, Any]] = {
        "extract": {"quotes": {}, "rejected": {}, "repairs": ["json_fixups_applied"], "reasks": ["json_parse"]},
        "embed": {"model": "m", "model_digest": "weights", "cut_texts": 2},
        "rerank": references.model_dump(mode="json"),
        "validate": keep_all(references).model_dump(mode="json"),
    }
    stored = await runs.store(connection, new_run(stages=(*outputs, "score")), always_new=True)
    for stage, output in outputs.items():
        await take(connection, stored.job_ids[0], stage, committing(output))

    found = await read(connection, stored.run_id)

    assert await scored_runs.reference_outputs(connection, stored.run_id) == [(references, keep_all(references), None)]
    assert (found.jobs[0].ranked, found.jobs[0].validated) == (references, keep_all(references))
    assert [(one.stage, one.repairs, one.reasks, one.cut_texts) for one in found.telemetry] == [
        ("embed", (), (), 2),
        ("extract", ("json_fixups_applied",), ("json_parse",), None),
        ("validate", (), (), None),
    ]


async def test_a_retried_run_reports_the_same_but_for_timings(connection: Connection) -> None:
    outcomes = {("zero_shot", 316): scores("1023"), ("zero_shot", 319): scores("2")}
    reports = []
    await import_labels(connection, {316: labels("10320102"), 319: labels("0")})
    straight = await store_scored_run(connection, outcomes)
    crooked = await store_scored_run(connection, dict.fromkeys(outcomes))
    job_ids = [job.job_id for job in (await read(connection, crooked)).jobs]
    for job_id, outcome in zip(reversed(job_ids), reversed(outcomes.values()), strict=True):
        await end(connection, job_id, TIMED_OUT)
        await job_control.retry(connection, job_id=job_id)
        await end(connection, job_id, outcome, first="score")
    for run_id in (straight, crooked):
        found = build_report(await read(connection, run_id), measures=Measures(bootstrap_resamples=20))
        reports.append(found.model_dump_json(exclude={"timings": True, "run_metadata": {"run_id"}}))

    assert reports[0] == reports[1]
