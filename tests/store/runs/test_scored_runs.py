"""A scored run is read whole."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.statuses import JobStatus
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.runs import SettingValue
from stages.participants.validate import keep_all
from store.database import Connection
from store.runs import runs, scored_runs
from store.runs.run_view import siblings
from store.views import scores_of_run
from tests.fakes.chat import served
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import labels, scores
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, committing, import_labels, store_scored_run, take

ZERO_SHOT, FEW_SHOT = AssessmentMode


async def test_each_job_is_read_with_its_scores_and_labels(connection: Connection) -> None:
    await import_labels(connection, {316: labels("10320102"), 319: None})
    run_id = await store_scored_run(
        connection,
        {("zero_shot", 316): scores("1023"), ("zero_shot", 319): TIMED_OUT, ("few_shot", 330): None},
        settings={"LLM_BACKEND": "ollama"},
    )

    found = await scored_runs.scored_run(connection, run_id)

    first = found.jobs[0].job_id
    assert [(job.mode, job.participant_id, job.status, job.scores, job.labels) for job in found.jobs] == [
        (ZERO_SHOT, 316, JobStatus.SUCCEEDED, scores("1023"), labels("10320102")),
        (ZERO_SHOT, 319, JobStatus.FAILED, None, None),
        (FEW_SHOT, 330, JobStatus.WAITING, None, None),
    ]
    assert found.settings == {"LLM_BACKEND": SettingValue(value="ollama", source="option")}
    of_stages = [(one.job_id - first, one.stage) for one in found.work.stages if one.job_id]
    assert of_stages == [(0, "extract"), (0, "score"), (1, "extract"), (1, "score")]


async def test_draws_are_those_of_the_same_work_and_weights_the_newest_run_of_each(connection: Connection) -> None:
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    runs_of = []
    for draw, digits, model in [
        *((0, "10", served()), (1, "20", served()), (2, "30", served()), (2, "30", served())),
        (3, "33", served(digest="other")),
    ]:
        outcomes = {("zero_shot", 316): scores(digits), ("zero_shot", 319): scores("11")}
        runs_of.append(await store_scored_run(connection, outcomes, draw=draw, models=[model]))
    of_first, of_third, of_other = [
        sorted((one.run_id, one.draw, one.item_mae_weighted) for one in await siblings(connection, run_id))
        for run_id in (runs_of[0], runs_of[2], runs_of[4])
    ]

    # 319 has errors 1 and 1; 316 has 0 0, then 1 0, then 2 0. A run is in its own draw.
    assert of_first == [("r1", 0, 0.5), ("r2", 1, 0.75), ("r4", 2, 1.0)]
    assert of_third == [("r1", 0, 0.5), ("r2", 1, 0.75), ("r3", 2, 1.0)]
    assert [run_id for run_id, _, _ in of_other] == ["r5"]


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

    found = await scored_runs.scored_run(connection, stored.run_id)

    assert (found.jobs[0].ranked, found.jobs[0].validated) == (references, keep_all(references))
    assert [(one.stage, one.repairs, one.reasks, one.cut_texts) for one in found.telemetry] == [
        ("embed", (), (), 2),
        ("extract", ("json_fixups_applied",), ("json_parse",), None),
        ("validate", (), (), None),
    ]


async def test_scores_in_another_form_are_never_counted_as_missing(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {("zero_shot", 316): scores("11")})
    for other_form in (
        "jsonb_set(output, '{items,Sleep,score}', '4')",
        "output #- '{items,Sleep,score}'",
        "jsonb_set(output, '{items}', '[]')",
    ):
        await connection.execute(f"UPDATE stage_attempt SET output = {other_form} WHERE stage = 'score'")

        with pytest.raises(ValidationError):
            await scores_of_run(connection, run_id)
