"""A run in every state that pages show, stored as workers would."""

from typing import Any, Final, NamedTuple

import numpy as np

from schemas.chains import stages_of
from schemas.values.base import Value
from schemas.values.participants import Decision, PHQ8Item, ValidatedReferences, Verdict
from schemas.values.runs import AttemptError
from store.database import Connection
from store.runs import jobs, runs, stages
from store.runs.runs import NewJob
from store.runs.stages import Claim
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import scores
from tests.store.conftest import new_run
from tests.store.scored import call_model, claimed, take

SUBJECTS: Final = ("316", "321", "330", "339")
MODEL_REPLY: Final = "Sorry, I would rather not say."
UNUSABLE: Final = AttemptError(
    "schemas.errors.LLMResponseParseError",
    "The validator's reply holds no verdict (30 characters, sha256 0a1b2c3d4e5f); `ragq retry` asks again.",
    "validation_parse",
    {"reply": MODEL_REPLY, "traceback": "Traceback (most recent call last): ..."},
)
REFERENCES: Final = {PHQ8Item.SLEEP: (reference(), reference(chunk_id=2))}
#: What reports and pages read of stages; `validate` keeps one of two references.
OUTPUTS: Final[dict[str, Value]] = {
    "rerank": ranked(REFERENCES),
    "validate": ValidatedReferences(
        validator="gemma",
        items={item: (reference(),) if item is PHQ8Item.SLEEP else () for item in PHQ8Item},
        verdicts={
            PHQ8Item.SLEEP: (
                Verdict(rank=1, chunk_id=1, decision=Decision.ACCEPT),
                Verdict(rank=2, chunk_id=2, decision=Decision.REJECT),
            )
        },
    ),
    "score": scores("0-2310--"),
}
CALL: Final[dict[str, Any]] = {"model": "gemma", "purpose": "judge", "prompt_tokens": 120, "seconds": 0.4}


class ShownRun(NamedTuple):
    """A run of participants and its jobs."""

    run_id: int
    succeeded: int
    failed: int
    running: int
    waiting: int
    zero_shot: int


async def participant_run(connection: Connection) -> ShownRun:
    """Jobs that are finished, failed twice at validation, running, waiting, and one without references."""
    few, zero = stages_of("participant", "few_shot"), stages_of("participant", "zero_shot")
    chains = [*(("few_shot", subject, few) for subject in SUBJECTS), ("zero_shot", SUBJECTS[0], zero)]
    made = [NewJob(mode=mode, subject=subject, inputs={}, stages=of) for mode, subject, of in chains]
    request = {"split": "paper-test", "profile_source": "option --profile"}
    stored = await runs.store(connection, new_run(request=request, version="0.1.0", jobs=made), always_new=True)
    succeeded, failed, running, _, zero_shot = stored.job_ids
    for job_id, done in ((succeeded, few), (failed, few[:4]), (running, few[:1]), (zero_shot, zero)):
        for stage in done:
            await take(connection, job_id, stage, _finish)
    await take(connection, failed, "validate", _fail)
    await jobs.retry(connection, job_id=failed)
    await take(connection, failed, "validate", _fail)
    await claimed(connection, running, "embed")
    return ShownRun(stored.run_id, *stored.job_ids)


async def _finish(connection: Connection, claim: Claim) -> None:
    if claim.stage in ("validate", "score"):
        await call_model(connection, claim.attempt_id, "private", **CALL)
    output = OUTPUTS[claim.stage].model_dump(mode="json") if claim.stage in OUTPUTS else {"stage": claim.stage}
    vectors = np.ones((1, 2), dtype=np.float32) if claim.stage == "embed" else None
    assert await stages.commit(connection, claim, inputs={}, output=output, vectors=vectors)


async def _fail(connection: Connection, claim: Claim) -> None:
    await call_model(connection, claim.attempt_id, "private", **CALL)
    assert await stages.fail(connection, claim, UNUSABLE, inputs={})
