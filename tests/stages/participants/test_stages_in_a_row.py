"""The stages of a participant job, each with the stored output of the one before."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from schemas.values.base import Value
from schemas.values.chat import ChatCall
from schemas.values.participants import PHQ8Item
from stages.participants.assemble import assemble_prompt
from stages.participants.embed import embed_evidence
from stages.participants.extract import DESCRIPTIONS, extract_by_similarity
from stages.participants.rerank import rank_references
from stages.participants.retrieve import retrieve_references
from stages.participants.validate import validate_references
from tests.fakes.chat import ScriptedChat
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.references import IndexedChunk, InMemoryReferenceSearch
from tests.stages.at_defaults import settings

StoredValue = TypeVar("StoredValue", bound=Value)

TRANSCRIPT = "Ellie: how do you sleep\nParticipant: hardly at all\nParticipant: it rained"
CHUNKS = {
    1: IndexedChunk(1, 303, 0, "Participant: I lie awake", np.array([1, 0], dtype=np.float32), {PHQ8Item.SLEEP: 3}),
    2: IndexedChunk(2, 304, 0, "Participant: nice weather", np.array([0, 1], dtype=np.float32), {PHQ8Item.SLEEP: 0}),
    3: IndexedChunk(3, 300, 0, "Participant: hardly at all", np.array([1, 0], dtype=np.float32), {PHQ8Item.SLEEP: 2}),
}


def direction(text: str) -> Sequence[float]:
    """East for texts about sleep, north for others."""
    return [1, 0] if text in (*DESCRIPTIONS[PHQ8Item.SLEEP], "hardly at all") else [0, 1]


def accept_sleeplessness(call: ChatCall) -> str:
    decision = "accept" if "lie awake" in call.messages[1].content else "reject"
    return f'{{"decision": "{decision}"}}'


def stored(value: StoredValue) -> StoredValue:
    """The value as it comes back from JSON."""
    return type(value).model_validate_json(value.model_dump_json())


async def test_a_participant_runs_all_stages() -> None:
    embedder = FakeEmbedder(direction)
    chat = ScriptedChat(accept_sleeplessness)
    texts = {chunk_id: chunk.text for chunk_id, chunk in CHUNKS.items()}

    run = settings(quantitative={"similarity_threshold": 0.9}, embedding={"dimension": 2})

    extracted = stored(await extract_by_similarity(TRANSCRIPT, embedder=embedder, settings=run))
    embedded, vectors = await embed_evidence(extracted, embedder=embedder, settings=run)
    retrieved = stored(
        await retrieve_references(
            stored(embedded),
            vectors,
            search=InMemoryReferenceSearch({7: list(CHUNKS.values())}),
            index_id=7,
            participant_id=300,
            excluded=(),
            settings=run,
        )
    )
    ranked = stored(rank_references(retrieved, run))
    validated = stored(
        await validate_references(ranked, extracted=extracted, chunk_texts=texts, chat=chat, settings=run)
    )
    prompt = stored(assemble_prompt(TRANSCRIPT, validated.items, texts, passages=None, settings=run))

    assert prompt.block == (
        "<Reference Examples>\n\n(PHQ8_Sleep Score: 3)\nParticipant: I lie awake\n\n</Reference Examples>"
    )
