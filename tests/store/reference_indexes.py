"""Reference indexes as rows, made without a run of stages."""

import json
from collections.abc import Sequence

import numpy as np
from pgvector import Vector

from schemas.values.participants import Chunk, ChunkScoresMeta, Participant, PHQ8Item
from schemas.values.runs import IndexSource
from stages.participants.artifacts import LoadedArtifact
from stages.ports import Vectors
from stages.texts.characters import short_hash
from store.database import Connection
from store.references import references
from store.runs import runs
from store.runs.runs import NewJob, NewRun
from tests.fakes.references import IndexedChunk
from tests.store.conftest import new_run

PLAN = IndexSource(
    name="small",
    data_set="data",
    split="paper-train",
    split_csv_hash="c",
    split_ids_hash="i",
    backend="huggingface",
    model="tiny",
    dimension=2,
    chunk_size=8,
    chunk_step=2,
    min_evidence_chars=8,
)


def person(
    number: int, *, transcript: str = "Participant: hello", hashed: str = "h", score: int | None = 1
) -> Participant:
    """A participant with the same score for every item, or without labels."""
    return Participant(
        id=number,
        transcript=transcript,
        transcript_hash=hashed,
        items=None if score is None else dict.fromkeys(PHQ8Item, score),
    )


async def publish_index(
    connection: Connection,
    plan: IndexSource,
    people: Sequence[tuple[Sequence[Chunk], Vectors]],
    *,
    chunk_scores_meta: ChunkScoresMeta | None = None,
) -> int:
    """Publish an index of these people's chunks and vectors as an import of its files does. Its id."""
    chunks, vectors = [chunk for of_one, _ in people for chunk in of_one], np.concatenate([rows for _, rows in people])
    numbers = tuple(sorted({chunk.participant_id for chunk in chunks}))
    artifact = LoadedArtifact(plan, numbers, tuple(chunks), vectors, chunk_scores_meta, None, ())
    return await references.keep_imported(connection, artifact)


_INDEX = """
INSERT INTO reference_index (id, name, identity, run_id, data_set, split, split_csv_hash, split_ids_hash, backend,
                             model, dimension, chunk_size, chunk_step, min_evidence_chars, published_at)
VALUES ($1, 'small', 'a', $2, 'data', 'paper-train', 'c', 'i', 'huggingface', 'tiny', $3, 8, 2, 8, now())
"""
_CHUNK = """
INSERT INTO reference_chunk (id, index_id, participant_id, ordinal, text, chunk_hash, tags, scores)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_VECTOR = """
INSERT INTO reference_vector (chunk_id, index_id, participant_id, ordinal, vector) VALUES ($1, $2, $3, $4, $5)
"""
_PARTICIPANT = """
INSERT INTO reference_participant (index_id, participant_id, items) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""


def index_run(*participants: int, settings_hash: str = "s" * 64) -> NewRun:
    """A run that builds an index from participants, in the two stages that publishing reads."""
    inputs = {number: {"items": {PHQ8Item.SLEEP.evidence_key: number % 4}} for number in participants}
    stages = ("chunk", "embed", "publish")
    jobs = [NewJob(mode="references", subject=str(one), inputs=of, stages=stages) for one, of in inputs.items()]
    return new_run(kind="index", settings_hash=settings_hash, request={"index": PLAN.name}, jobs=jobs)


async def store_index(connection: Connection, index_id: int, chunks: Sequence[IndexedChunk]) -> None:
    """Store a published index of these chunks."""
    stored = await runs.store(connection, index_run(), always_new=True)
    await connection.execute(_INDEX, index_id, stored.run_id, len(chunks[0].vector))
    for chunk in chunks:
        scores = {item.evidence_key: score for item, score in chunk.scores.items()}
        place = (index_id, chunk.participant_id)
        own = {item.evidence_key: score for item, score in chunk.own_scores.items()}
        tags = [item.evidence_key for item in chunk.tags]
        text = (chunk.text, short_hash(chunk.text), tags, json.dumps(own))
        await connection.execute(_CHUNK, chunk.chunk_id, *place, chunk.ordinal, *text)
        await connection.execute(_VECTOR, chunk.chunk_id, *place, chunk.ordinal, Vector(chunk.vector))
        await connection.execute(_PARTICIPANT, *place, json.dumps(scores))
