"""Runs in every state that pages show, stored as workers would."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from schemas.chains import stages_of
from schemas.values.base import Value
from schemas.values.chat import ChatCall, ChatReply, Message, ReaskReason
from schemas.values.participants import (
    AssembledPrompt,
    Decision,
    EmbeddedEvidence,
    PHQ8Item,
    Reference,
    RetrievedReferences,
    SimilarityStatistics,
    ValidatedReferences,
    Verdict,
)
from schemas.values.queries import Answer, Origin, RerankedChunks, ValidatedChunks
from schemas.values.runs import AttemptError
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import jobs, ledger, runs, stages
from store.runs.runs import NewJob
from store.runs.stages import Claim
from tests.fakes.chat import served
from tests.fakes.references import IndexedChunk
from tests.services.questions.questions import PROMPT, VALIDATED, a_question, complete_stages
from tests.stages.participants.builders import evidence, ranked, reference
from tests.stages.reports.builders import scores
from tests.store.conftest import new_run
from tests.store.reference_indexes import store_index
from tests.store.scored import claimed

QUOTES = ("I sleep three hours a night.", "I wake at four and lie there.")
CHUNK_TEXTS = ("Participant: sleeping is hard since May.", "Participant: I nap in the afternoon.")
INPUTS = {"data_set": "data", "n": 1}
REPLY = '{"decision": "accept"}'
MODEL_REPLY = "Sorry, I would rather not say."

UNUSABLE = AttemptError(
    "schemas.errors.LLMResponseParseError",
    "The validator's reply holds no verdict (30 characters, sha256 0a1b2c3d4e5f); `ragq retry` asks again.",
    "validation_parse",
    {"reply": MODEL_REPLY, "traceback": "Traceback (most recent call last): ..."},
)


class ShownRun(NamedTuple):
    """A run of participants and its jobs."""

    run_id: int
    succeeded: int
    failed: int
    running: int
    waiting: int
    zero_shot: int


async def participant_run(
    connection: Connection, *, subjects: tuple[str, ...] = ("316", "321", "330", "339"), request: Mapping[str, Any] = {}
) -> ShownRun:
    """Jobs that are finished, failed twice at validation, running, waiting, and one without references."""
    await store_index(
        connection,
        7,
        [
            IndexedChunk(number, 300 + number, 0, text, np.ones(2, dtype=np.float32), {}, {}, ())
            for number, text in enumerate(CHUNK_TEXTS, start=1)
        ],
    )
    few, zero = stages_of("participant", "few_shot"), stages_of("participant", "zero_shot")
    stored = await runs.store(
        connection,
        new_run(
            settings={
                "EMBEDDING_TOP_K_REFERENCES": {"value": 2, "source": "option"},
                "MODEL_TEMPERATURE": {"value": 0.0, "source": "default"},
            },
            request={"split": "paper-test", "profile_source": "option --profile", **request},
            version="0.1.0",
            jobs=[
                *(NewJob(mode="few_shot", subject=subject, inputs=INPUTS, stages=few) for subject in subjects),
                NewJob(mode="zero_shot", subject=subjects[0], inputs=INPUTS, stages=zero),
            ],
        ),
        always_new=True,
    )
    succeeded, failed, running, waiting, zero_shot = stored.job_ids
    for stage in few:
        await _do(connection, succeeded, stage)
    for stage in few[:4]:
        await _do(connection, failed, stage)
    await _fail(connection, failed, "validate")
    await jobs.retry(connection, job_id=failed)
    await _fail(connection, failed, "validate")
    await _do(connection, running, "extract")
    await claimed(connection, running, "embed")
    for stage in zero:
        await _do(connection, zero_shot, stage)
    return ShownRun(stored.run_id, succeeded, failed, running, waiting, zero_shot)


async def question_run(connection: Connection, text: str = "Why is tea dark?") -> StoredQuery:
    """A question with every stage stored, judged chunks, and an answer that cites a source too many."""
    query = await a_question(connection, "expand", "embed", "retrieve", text=text)
    chunks = VALIDATED.chunks
    await _store(
        connection,
        query.job_id,
        "rerank",
        RerankedChunks(
            ranker="score-fusion", chunks=chunks, ranking=(1, 2, 3), dropped={"min_chars": 1}, work_hashes={}
        ),
    )
    verdicts = tuple(
        Verdict(rank=rank, chunk_id=rank, decision=decision) for rank, decision in enumerate(Decision, start=1)
    )
    await _store(
        connection,
        query.job_id,
        "validate",
        ValidatedChunks(validator="judge", chunks=chunks[:1], verdicts=verdicts),
        calls=("judge chunk",) * 3,
    )
    await complete_stages(connection, query.job_id, "consolidate", "augment")
    answer = Answer(
        origin=Origin.MODEL, model="m", prompt_hash="p", text="Oxygen [S1] [S9].", cited=("S1",), unknown=("S9",)
    )
    await queries.add_result(connection, query.id, answer, PROMPT.sources, attempt_id=None, preset="Balanced")
    await _store(connection, query.job_id, "generate", answer, calls=("generate answer",))
    return query


async def _do(connection: Connection, job_id: int, stage: str) -> None:
    """Complete a stage of a participant."""
    calls = {"validate": ("judge reference",) * 2, "score": ("score participant",)}.get(stage, ())
    await _store(connection, job_id, stage, OUTPUTS[stage], calls=calls)


async def _store(
    connection: Connection, job_id: int, stage: str, output: Value, *, calls: tuple[str, ...] = ()
) -> None:
    claim = await claimed(connection, job_id, stage)
    await _call(connection, claim, calls)
    vectors = np.ones((1, 2), dtype=np.float32) if stage == "embed" else None
    inputs = {"settings": "s" * 12}
    assert await stages.commit(connection, claim, inputs=inputs, output=output.model_dump(mode="json"), vectors=vectors)


async def _fail(connection: Connection, job_id: int, stage: str) -> None:
    claim = await claimed(connection, job_id, stage)
    await _call(connection, claim, ("judge reference",))
    assert await stages.fail(connection, claim, UNUSABLE, inputs={})


async def _call(connection: Connection, claim: Claim, purposes: tuple[str, ...]) -> None:
    for number, purpose in enumerate(purposes):
        call = ChatCall(
            model="gemma",
            messages=(
                Message(role="system", content="You judge references."),
                Message(role="user", content=f"Does this speak of sleep? {CHUNK_TEXTS[number % 2]}"),
            ),
            timeout_s=1,
            purpose=purpose,
        )
        reply = ChatReply(
            text=REPLY, model="gemma", digest="d", stop_reason="stop", prompt_tokens=120, reply_tokens=8, seconds=0.4
        )
        key = f"{purpose} {number}"
        kept = await ledger.find(connection, key)
        found = kept or await ledger.keep(connection, key, call, reply, served())
        await ledger.use(connection, claim.attempt_id, found.call_id, purpose, is_reused=kept is not None)


_FIRST = reference(CHUNK_TEXTS[0], chunk_id=1, similarity=0.91, score=2)
_SECOND = reference(CHUNK_TEXTS[1], chunk_id=2, similarity=0.84, score=None)


def _per_item(*references: Reference) -> dict[PHQ8Item, tuple[Reference, ...]]:
    return {item: references if item is PHQ8Item.SLEEP else () for item in PHQ8Item}


_KEPT = SimilarityStatistics(count=1, mean=0.91, maximum=0.91)

#: What the stages of a participant store.
OUTPUTS: dict[str, Value] = {
    "extract": evidence({PHQ8Item.SLEEP: QUOTES}).model_copy(
        update={
            "rejected": {PHQ8Item.TIRED: 1},
            "reasks": (ReaskReason.SCHEMA_VALIDATION,),
            "repairs": ("json_fixups_applied", "unknown_keys_dropped"),
        }
    ),
    "embed": EmbeddedEvidence(
        model="tiny",
        model_digest="weights",
        dimension=2,
        items=(PHQ8Item.SLEEP,),
        embedding_calls=1,
        cut_texts=1,
        cut_items=(PHQ8Item.SLEEP,),
    ),
    "retrieve": RetrievedReferences(index_id=7, excluded_participant=316, items=_per_item(_FIRST, _SECOND)),
    "rerank": ranked(_per_item(_FIRST, _SECOND)).model_copy(update={"dropped": {PHQ8Item.SLEEP: {"top_k": 3}}}),
    "validate": ValidatedReferences(
        validator="gemma",
        items=_per_item(_FIRST),
        verdicts={
            PHQ8Item.SLEEP: (
                Verdict(rank=1, chunk_id=1, decision=Decision.ACCEPT),
                Verdict(rank=2, chunk_id=2, decision=Decision.REJECT),
            )
        },
        reasks=(ReaskReason.CUT_OFF,),
    ),
    "assemble": AssembledPrompt(
        block=f"<references>{CHUNK_TEXTS[0]}</references>",
        messages=(Message(role="system", content="You score."), Message(role="user", content="Score this person.")),
        statistics=dict.fromkeys(PHQ8Item, _KEPT),
        entries=1,
    ),
    "score": scores("0-2310--", "00200000", "55342--1"),
}
