"""The scores of the single chunks of an index: their texts are read for scoring, all scores are stored at once."""

import json
from typing import Any, NamedTuple

from schemas.errors import EmbeddingArtifactMismatchError, ReferenceIndexMissingError
from schemas.values.participants import ChunkScoresMeta
from store.database import Connection
from store.runs.chain import content_hash

CHUNKS = "SELECT id, chunk_hash FROM reference_chunk WHERE index_id = $1 ORDER BY participant_id, ordinal"

CHUNK = """
SELECT k.text, i.name, i.replaced_at IS NOT NULL AS is_replaced
FROM reference_chunk AS k JOIN reference_index AS i ON i.id = k.index_id
WHERE k.id = $1 AND k.index_id = $2 AND k.chunk_hash = $3
"""

# The row lock lets one job after the other look, so that exactly the last one stores the scores.
LOCK_INDEX = "SELECT name, replaced_at FROM reference_index WHERE id = $1 FOR NO KEY UPDATE"

UNFINISHED = "SELECT EXISTS (SELECT FROM job WHERE run_id = $1 AND status <> 'succeeded')"

SCORED = """
SELECT j.subject::bigint AS chunk_id, a.output
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
WHERE j.run_id = $1
"""

SCORERS = f"""
SELECT count(DISTINCT (output ->> 'model', output ->> 'model_digest', output ->> 'prompt_hash')) FROM ({SCORED}) AS s
"""

# Items are stored under their names by the stage, and under their evidence keys in an index.
STORE = f"""
WITH scored AS ({SCORED}), stored AS (
    UPDATE reference_chunk AS k
    SET scores = (SELECT jsonb_object_agg('PHQ8_' || e.key, e.value) FROM jsonb_each(s.output -> 'scores') AS e)
    FROM scored AS s WHERE k.id = s.chunk_id AND k.index_id = $2
    RETURNING k.id
)
SELECT (SELECT count(*) FROM stored) AS stored,
       (SELECT count(*) FROM reference_chunk WHERE index_id = $2) AS chunks
"""

DESCRIBE = """
UPDATE reference_index
SET chunk_scores_meta = $2::jsonb || jsonb_build_object('generated_at', to_char(now() AT TIME ZONE 'UTC', $3::text))
WHERE id = $1
"""

_ISO_UTC = 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'

META = "SELECT chunk_scores_meta FROM reference_index WHERE id = $1"


class ChunkIdentity(NamedTuple):
    """A chunk of an index, and the hash of its text."""

    chunk_id: int
    chunk_hash: str


async def chunks(connection: Connection, index_id: int) -> list[ChunkIdentity]:
    """The chunks of an index, participants by id, chunks in order."""
    return [ChunkIdentity(row["id"], row["chunk_hash"]) for row in await connection.fetch(CHUNKS, index_id)]


async def text_to_score(connection: Connection, index_id: int, chunk: ChunkIdentity) -> str:
    """The text of a chunk.

    Raises ReferenceIndexMissingError when it is not stored any more, and EmbeddingArtifactMismatchError when scores for
    its index would come too late.
    """
    row = await connection.fetchrow(CHUNK, chunk.chunk_id, index_id, chunk.chunk_hash)
    if row is None:
        raise ReferenceIndexMissingError(index_id)
    if row["is_replaced"]:
        raise _replaced(index_id, row["name"])
    text: str = row["text"]
    return text


async def store_when_complete(connection: Connection, run_id: int, index_id: int, meta: ChunkScoresMeta) -> bool:
    """Give the chunks of an index their scores if every job of the run has succeeded; searches see all or none.

    Called in the transaction that ends a job; returns whether this call stored the scores. `meta` names what scored;
    time, count and file name are filled in here.

    Raises EmbeddingArtifactMismatchError when there is a newer index of the name, or when the jobs used different
    weights or prompts or left a chunk out.
    """
    index = await connection.fetchrow(LOCK_INDEX, index_id)
    if index is None:
        raise ReferenceIndexMissingError(index_id)
    if await connection.fetchval(UNFINISHED, run_id):
        return False
    if index["replaced_at"] is not None:
        raise _replaced(index_id, index["name"])
    scorers: int = await connection.fetchval(SCORERS, run_id)
    if scorers != 1:
        raise EmbeddingArtifactMismatchError(
            f"The jobs of run r{run_id} scored with {scorers} different weights or prompts; score the chunks again "
            "(--new) with one version of the model and of ragq on every worker."
        )
    counts = await connection.fetchrow(STORE, run_id, index_id)
    if counts["stored"] != counts["chunks"]:
        raise EmbeddingArtifactMismatchError(
            f"Run r{run_id} scored {counts['stored']} of {counts['chunks']} chunks of reference index {index_id}; "
            "nothing was stored."
        )
    whole = meta.model_copy(update={"source_embeddings": f"{index['name']}.npz", "total_chunks": counts["chunks"]})
    await connection.execute(DESCRIBE, index_id, json.dumps(whole.document()), _ISO_UTC)
    return True


async def scored_by(connection: Connection, index_id: int) -> str:
    """A hash that changes whenever the chunks of an index are scored anew."""
    meta: dict[str, Any] | None = await connection.fetchval(META, index_id)
    return content_hash(meta)


def _replaced(index_id: int, name: str) -> EmbeddingArtifactMismatchError:
    return EmbeddingArtifactMismatchError(
        f"Reference index {index_id} was replaced by a newer one of its name, which has chunks of its own; score "
        f"those: `ragq index chunk-scores {name}`."
    )
