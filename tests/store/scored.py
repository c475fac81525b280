"""Runs whose stages are stored directly, and workers that were seen just now."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from schemas.settings.resolve import resolve
from schemas.settings.run import settings_hash
from schemas.values.chat import ChatCall, ChatReply, Message, ModelIdentity
from schemas.values.participants import Participant
from schemas.values.runs import AttemptError
from schemas.values.scoring import ParticipantScores
from stack.home import this_environment
from store.database import Connection
from store.references import interviews
from store.runs import ledger, runs, stages, workers
from store.runs.runs import NewJob, StoredRun
from tests.fakes.chat import served
from tests.stages.reports import builders
from tests.store.conftest import new_run
from tests.store.reference_indexes import person

STAGES = ("extract", "score")
INPUTS = {"data_set": "data", "transcript_hash": "t"}

TIMED_OUT = AttemptError(
    "schemas.errors.LLMTimeoutError", "LLM request timed out after 600s", "scoring_llm_timeout", {"words": "private"}
)

BROKEN = AttemptError("builtins.RuntimeError", "it broke", "unknown", {"words": "private"})

Outcome = ParticipantScores | AttemptError | None
"""What a job ends with: scores, an error, or nothing yet."""


async def import_labels(connection: Connection, labels: Mapping[int, Mapping[str, int] | None]) -> None:
    """Store participants with these item labels by evidence key."""
    nobody = person(1, hashed="t").model_dump()
    people = [Participant(**{**nobody, "id": number, "items": items}) for number, items in labels.items()]
    await interviews.keep(connection, "data", people, [])


async def store_scored_run(
    connection: Connection,
    outcomes: Mapping[tuple[str, int], Outcome],
    *,
    settings: Mapping[str, Any] | None = None,
    extracted: Mapping[str, Any] | None = None,
    draw: int = 0,
    models: Sequence[ModelIdentity] = (),
) -> int:
    """Store a run of one job per mode and participant, each with its outcome from `outcomes`. Its number."""
    chosen = {name: {"value": value, "source": "option"} for name, value in (settings or {}).items()}
    asked = {"split": "paper-test", "limit": None, "evidence": None, "profile_source": "option --profile"}
    request = asked | ({"draw": draw} if draw else {})
    jobs = [NewJob(mode=mode, subject=str(number), inputs=INPUTS, stages=STAGES) for mode, number in outcomes]
    run = new_run(settings=chosen, request=request, version="0.1.0", models=models, jobs=jobs)
    stored = await runs.store(connection, run, always_new=True)
    for job_id, outcome in zip(stored.job_ids, outcomes.values(), strict=True):
        if outcome is not None:
            await end(connection, job_id, outcome, extracted=extracted)
    return stored.run_id


async def end(
    connection: Connection,
    job_id: int,
    outcome: ParticipantScores | AttemptError,
    *,
    first: str = "extract",
    extracted: Mapping[str, Any] | None = None,
) -> None:
    """Complete a job from its stage `first` up to `score`."""
    if first == "extract":
        await take(connection, job_id, "extract", committing(extracted or {"rejected": {}, "quotes": {}}))
    if isinstance(outcome, ParticipantScores):
        await take(connection, job_id, "score", committing(outcome.model_dump(mode="json")))
    else:
        await take(connection, job_id, "score", failing(outcome))


async def take(
    connection: Connection, job_id: int, stage: str, finish: Callable[[Connection, stages.Claim], Awaitable[Any]]
) -> None:
    await finish(connection, await claimed(connection, job_id, stage))


async def claimed(connection: Connection, job_id: int, stage: str = "extract", lease_s: float = 60) -> stages.Claim:
    """The claim of a worker on a stage that is due."""
    claim = await stages.claim(connection, job_id, stage, "worker", lease_s)
    assert claim is not None, stage
    return claim


def committing(output: Mapping[str, Any]) -> Callable[[Connection, stages.Claim], Awaitable[Any]]:
    return lambda connection, claim: stages.commit(connection, claim, inputs={}, output=output)


def failing(failure: AttemptError) -> Callable[[Connection, stages.Claim], Awaitable[Any]]:
    return lambda connection, claim: stages.fail(connection, claim, failure, inputs={})


async def call_model(
    connection: Connection,
    attempt_id: int,
    asking: str = "?",
    *,
    model: str = "m",
    server: str = "memory",
    purpose: str = "score",
    is_reused: bool = False,
    **reply: Any,
) -> None:
    """A call of a language model that an attempt asks for; equal ones are stored once."""
    asked = ChatCall(model=model, messages=(Message(role="user", content=asking),), purpose=purpose)
    replied = {"text": "yes", "model": model, "digest": "d", "stop_reason": "stop", "seconds": 1.0} | reply
    served_by = served(model, server=server)
    key = ledger.call_key(asked, served_by)
    call_id, _ = await ledger.keep(connection, key, asked, ChatReply(**replied), served_by)
    await ledger.use(connection, attempt_id, call_id, purpose, is_reused=is_reused)


async def counted(connection: Connection, *tables: str) -> list[int]:
    return [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in tables]


async def enroll(connection: Connection, *stages: str, name: str = "w", **others: Any) -> None:
    """A worker of one process that takes these stages, with `others` as they are given."""
    made: dict[str, Any] = {"host": "h", "pid": 1, "servers": {}, "concurrency": 1, "broker": "broker"}
    environment = others.pop("environment", None) or this_environment()
    await workers.enroll(connection, name, stages=stages, environment=environment, **made | others)


FORKABLE = ("extract", "assemble", "score")
EXTRACTED = {"quotes": {}, "rejected": {}, "secret": "I lie awake"}


async def forkable_run(
    connection: Connection,
    outcomes: Mapping[int, ParticipantScores | None],
    *,
    mode: str = "zero_shot",
    options: Mapping[str, str] | None = None,
) -> StoredRun:
    """A run of the profile demo, one job per participant; those without scores fail nothing and wait for `score`."""
    effective = resolve(profile="demo", options=options or {}, environment={})
    chosen = {"settings": effective.snapshot(), "settings_hash": settings_hash(effective.run)}
    request = {"split": "paper-test", "profile_source": effective.profile_source}
    run = new_run(outcomes, mode=mode, inputs={"data_set": "data"}, stages=FORKABLE, request=request, **chosen)
    stored = await runs.store(connection, run, always_new=True)
    for job_id, scores in zip(stored.job_ids, outcomes.values(), strict=True):
        await finish(connection, job_id, FORKABLE, scores)
    return stored


async def finish(connection: Connection, job_id: int, stages: Sequence[str], scores: ParticipantScores | None) -> None:
    """Complete stages of a job; `score` only where there are scores."""
    for stage in stages:
        output: Any = EXTRACTED if stage == "extract" else {"prompt": "Score."}
        if stage == "score":
            if scores is None:
                return
            output = scores.model_dump(mode="json")
        await take(connection, job_id, stage, committing(output))


NOTICED: Final[dict[str, Any]] = {
    "overlap": {"index": "tiny_avec_train", "participants": [316, 319]},
    "left_parity": ["EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6"],
    "variants": {"transcripts": {"raw": 1, "unknown": 1}, "index": "participant_qa"},
}

NOTICES: Final = (
    "Parity with the paper's notebook is left by EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6: compare with none of its "
    "figures.",
    "Overlap allowed: 2 participants of reference index 'tiny_avec_train' are assessed here or in the same split: 316, "
    "319. Their chunks were left out of every search.",
    "The transcripts are of several variants: raw (1), unknown (1).",
    "Transcript variant of transcripts unknown: stored before variants were recorded, or from files that do not name "
    "theirs.",
)


async def noticed_run(connection: Connection) -> int:
    """A finished run of two participants, with NOTICED as part of its request. Its number."""
    await import_labels(connection, {316: builders.labels("10"), 319: builders.labels("2")})
    outcomes = {("few_shot", 316): builders.scores("11", "21"), ("few_shot", 319): builders.scores("2", "11")}
    run_id = await store_scored_run(connection, outcomes)
    await connection.execute("UPDATE run SET request = request || $2 WHERE id = $1", run_id, json.dumps(NOTICED))
    return run_id
