"""A scored run is read whole, and its cost counts every attempt and what was not computed again."""

from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings, prices_of
from schemas.statuses import JobStatus
from schemas.values.costs import ModelPrice, Prices
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.runs import RunLimits, RunLimitState, SettingValue
from services.reports import cost_of_run
from stages.participants.validate import keep_all
from stages.reports.costs import cost_words
from store.database import Connection
from store.runs import backlog, jobs, runs, scored_runs, stages
from store.runs.run_view import siblings
from store.runs.stages import Claim
from store.views import scores_of_run
from tests.fakes.chat import served
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import labels, scores
from tests.store.conftest import StoreRun, new_run
from tests.store.scored import BROKEN, TIMED_OUT, call_model, claimed, committing, import_labels, store_scored_run, take

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
    of_stages = [(one.job_id - first, one.stage) for one in found.work if one.job_id]
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


PRICES = Prices(currency="EUR", models={"big": ModelPrice(prompt=2, reply=10)})


numbers = count()


async def call(connection: Connection, claim: Claim, *, model: str = "big", is_reused: bool = False, **of: Any) -> None:
    reply = {"seconds": 2, "prompt_tokens": 1000, "reply_tokens": 100} | of
    await call_model(connection, claim.attempt_id, f"{next(numbers)}", model=model, is_reused=is_reused, **reply)


async def test_a_retry_never_lowers_the_cost(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run()
    (job_id,) = stored.job_ids
    await stages.commit(connection, await claimed(connection, job_id, "extract"), inputs={}, output={"a": 1})
    failing = await claimed(connection, job_id, "embed")
    await call(connection, failing)
    await stages.fail(connection, failing, BROKEN, inputs={})
    before = await cost_of_run(connection, stored.run_id, PRICES, by_job=True)
    await jobs.retry(connection, run_id=stored.run_id)
    again = await claimed(connection, job_id, "embed")
    await call(connection, again, is_reused=True)
    await call(connection, again)
    await stages.commit(connection, again, inputs={}, output={"b": 1})
    after = await cost_of_run(connection, stored.run_id, PRICES, by_job=True)
    # A limit that is given later counts what was paid for and nothing else.
    await backlog.keep(connection, stored.run_id, RunLimits(max_llm_calls=5))

    assert await backlog.find(connection, stored.run_id) == RunLimitState(max_llm_calls=5, llm_calls=2, tokens=2200)
    assert (before.total.attempts, before.total.calls_paid, before.total.prompt_tokens) == (2, 1, 1000)
    assert before.total.money == pytest.approx(0.003)
    assert (after.total.attempts, after.total.calls_paid, after.total.prompt_tokens) == (3, 2, 2000)
    assert after.total.money == pytest.approx(0.006)
    assert after.total.saved_money == pytest.approx(0.003)
    assert (after.total.calls_reused, after.total.saved_prompt_tokens, after.total.saved_seconds) == (1, 1000, 2.0)
    assert after.stages["embed"].reply_tokens == after.jobs[f"j{job_id}"].reply_tokens == 200
    assert after.models["big"].calls_paid == 2
    words = list(cost_words(after))
    assert words[0].endswith("2 calls paid and 1 reused, 2,000 + 200 tokens, 0.0060 EUR")
    assert any(line.startswith("saved by the ledger: 1 call, 1,000 + 100 tokens") for line in words)


async def test_what_a_fork_copied_is_not_spent(connection: Connection, store_run: StoreRun) -> None:
    parent, child = await store_run(), await store_run("317")
    await stages.commit(connection, await claimed(connection, parent.job_ids[0], "extract"), inputs={}, output={"a": 1})
    await stages.commit(connection, await claimed(connection, child.job_ids[0], "extract"), inputs={}, output={"a": 1})
    await connection.execute("UPDATE stage_attempt SET started_at = ended_at - interval '7 s'")
    await connection.execute("UPDATE stage_attempt SET worker_id = 'copied' WHERE job_id = $1", child.job_ids[0])
    cost = await cost_of_run(connection, child.run_id)
    sums = await cost_of_run(connection, parent.run_id)

    assert cost.total.attempts == 0
    assert (sums.total.seconds, sums.jobs) == (7.0, {})


async def test_no_money_is_summed_that_lacks_a_price_or_a_count(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run()
    claim = await claimed(connection, stored.job_ids[0], "extract")
    await call(connection, claim, model="small")
    await call(connection, claim, prompt_tokens=None)
    cost = await cost_of_run(connection, stored.run_id, PRICES, by_job=True)

    assert (cost.total.money, cost.unpriced, cost.total.calls_uncounted) == (None, ("small",), 1)
    assert cost.models["big"].money == pytest.approx(0.001)
    assert "without a price: small" in list(cost_words(cost))


def test_a_price_file_is_refused_with_what_is_wrong(tmp_path: Any) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('currency = "EUR"\n[models.big]\nprompt = -2\n')

    with pytest.raises(Refused, match=r"models\.big\.prompt"):
        prices_of(ProcessSettings(ragq_prices=bad))
