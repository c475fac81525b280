"""Index runs: what their jobs embedded is published in one step, when all of them have finished.

The last job that succeeds publishes in its own commit. Where a run may leave out participants, and the last job fails,
the reaper finds that the publication is *due* and makes a job that has succeeded repeat its `publish`. The publication
is therefore a stage like any other: it is repeated when its worker dies, and its error is stored.
"""

from datetime import UTC, datetime

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.participants import ChunkScoresMeta
from stages.models import first_unlike
from store import rows
from store.database import Connection
from store.references.references import DUE, PLANNED_COLUMNS, StoredIndex, index_missing, make_current
from store.runs import jobs
from store.runs.chain import content_hash

# One job after the other looks, so that of those that end at the same moment exactly one publishes.
LOCK = "SELECT coalesce((request ->> 'allow_partial')::boolean, false) FROM run WHERE id = $1 FOR NO KEY UPDATE"

STATES = """
SELECT count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
       count(*) FILTER (WHERE status IN ('failed', 'poisoned')) AS failed,
       count(*) AS jobs
FROM job WHERE run_id = $1
"""

DIGESTS = """
SELECT DISTINCT a.output ->> 'model_digest' AS digest, coalesce(a.output ->> 'dtype', '') AS dtype
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND j.status = 'succeeded' AND a.stage = 'embed' AND a.outcome = 'succeeded'
"""

CUT_CHUNKS = """
SELECT coalesce(sum(jsonb_array_length(a.output -> 'cut_chunks')), 0)::integer
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'embed' AND a.status = 'done'
WHERE j.run_id = $1
"""

# As a PartialBuild; null of a complete index.
LEFT_OUT = """
WITH left_out AS (
    SELECT j.subject::integer AS participant_id, a.error_category AS category,
           (SELECT jsonb_array_length(c.output -> 'chunks') FROM current_attempt AS c
            WHERE c.job_id = j.id AND c.stage = 'chunk' AND c.status = 'done') AS chunks
    FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.status = 'failed'
    WHERE j.run_id = $1 AND j.status IN ('failed', 'poisoned')
), reason AS (SELECT category, sum(chunks) AS chunks FROM left_out GROUP BY category HAVING sum(chunks) > 0)
SELECT jsonb_build_object(
    'skipped_participants', jsonb_agg(participant_id ORDER BY participant_id),
    'chunk_skip_reason_counts', coalesce((SELECT jsonb_object_agg(category, chunks) FROM reason), '{}')
)
FROM left_out HAVING count(*) > 0
"""

# An index that others may be searching is never changed: each publication is a new row.
PLAN_AGAIN = f"""
INSERT INTO reference_index (run_id, {PLANNED_COLUMNS})
SELECT run_id, {PLANNED_COLUMNS} FROM reference_index WHERE id = $1 RETURNING id
"""

# The chunks and vectors of a run lie in its attempts: publishing copies them inside the database.
PUBLISH_CHUNKS = """
WITH current AS (
    SELECT a.stage, a.attempt_id, a.output, j.subject::integer AS participant_id
    FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.status = 'done'
    WHERE j.run_id = $2 AND j.status = 'succeeded'
), chunk AS (
    INSERT INTO reference_chunk (index_id, participant_id, ordinal, text, chunk_hash, tags)
    SELECT $1, t.participant_id, t.ordinal, t.text, t.chunk_hash, t.tags
    FROM current AS c, jsonb_populate_recordset(NULL::reference_chunk, c.output -> 'chunks') AS t
    WHERE c.stage = 'chunk' ORDER BY t.participant_id, t.ordinal
    RETURNING id, participant_id, ordinal
), stored AS (
    INSERT INTO reference_vector (chunk_id, index_id, participant_id, ordinal, vector)
    SELECT k.id, $1, k.participant_id, k.ordinal, v.vector
    FROM chunk AS k
    JOIN current AS c ON c.participant_id = k.participant_id AND c.stage = 'embed'
    JOIN stage_vector AS v ON v.attempt_id = c.attempt_id AND v.ordinal = k.ordinal
    RETURNING chunk_id
)
SELECT (SELECT count(*) FROM chunk) AS chunks, (SELECT count(*) FROM stored) AS vectors
"""

# The vectors of evidence follow those of the chunks.
PUBLISH_EVIDENCE = """
INSERT INTO reference_evidence (index_id, participant_id, item, vector)
SELECT $1, j.subject::integer, 'PHQ8_' || e.item, v.vector
FROM job AS j
JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'embed' AND a.status = 'done'
CROSS JOIN LATERAL jsonb_array_elements_text(a.output -> 'items') WITH ORDINALITY AS e (item, ordinal)
JOIN stage_vector AS v
    ON v.attempt_id = a.attempt_id AND v.ordinal = (a.output ->> 'chunk_vectors')::integer + e.ordinal - 1
WHERE j.run_id = $2 AND j.status = 'succeeded'
"""

PUBLISH_PARTICIPANTS = """
INSERT INTO reference_participant (index_id, participant_id, items)
SELECT $1, j.subject::integer, nullif(j.inputs -> 'items', 'null')
FROM job AS j WHERE j.run_id = $2 AND j.status = 'succeeded'
"""


async def by_run(connection: Connection, run_id: int) -> StoredIndex | None:
    """The newest index that a run builds or built."""
    found = await rows.find(connection, StoredIndex, "reference_index", order="id DESC", run_id=run_id)
    return found[0] if found else None


async def cut_chunks(connection: Connection, run_id: int) -> int:
    """How many chunks of a run were cut at the length that the embedder reads."""
    return int(await connection.fetchval(CUT_CHUNKS, run_id))


async def publish_when_complete(connection: Connection, run_id: int) -> bool:
    """Publish the index of a run if every one of its jobs has succeeded, and replace the older one of its name and
    identity. Where the run may leave participants out, it is enough that every job has ended; the index then records
    what it lacks, and jobs that succeed after a retry publish a fuller one in its place. Called in the transaction that
    ends a job; returns whether this call published. Raises EmbeddingArtifactMismatchError when the jobs used different
    weights."""
    may_leave_out = await connection.fetchval(LOCK, run_id)
    states = await connection.fetchrow(STATES, run_id)
    index = await by_run(connection, run_id)
    unfinished: int = states["jobs"] - states["succeeded"]
    if index is None or index.participants == states["succeeded"]:
        return False
    if unfinished > (states["failed"] if may_leave_out else 0):
        return False
    used = await connection.fetch(DIGESTS, run_id)
    digests, dtypes = sorted({row["digest"] for row in used}), sorted({row["dtype"] for row in used} - {""})
    if len(digests) != 1:
        raise EmbeddingArtifactMismatchError(
            f"The jobs of run r{run_id} embedded with {len(digests)} different weights; build the index again with "
            "one version of the model on every worker."
        )
    if dtypes and first_unlike(dtypes[-1], dtypes) is not None:
        raise EmbeddingArtifactMismatchError(
            f"The jobs of run r{run_id} embedded in {' and '.join(dtypes)}, whose vectors are not compared; build the "
            "index again with one RAGQ_EMBEDDING_DTYPE on every worker."
        )
    index_id = index.id if index.published_at is None else await connection.fetchval(PLAN_AGAIN, index.id)
    await connection.execute(PUBLISH_PARTICIPANTS, index_id, run_id)
    counts = await connection.fetchrow(PUBLISH_CHUNKS, index_id, run_id)
    if counts["chunks"] != counts["vectors"] or not counts["chunks"]:
        raise EmbeddingArtifactMismatchError(
            f"Run r{run_id} has {counts['chunks']} chunks and {counts['vectors']} vectors; nothing was published."
        )
    await connection.execute(PUBLISH_EVIDENCE, index_id, run_id)
    await make_current(
        connection,
        index_id,
        index.name,
        participants=states["succeeded"],
        chunks=counts["chunks"],
        model_digest=digests[0],
        model_dtypes=dtypes,
        partial=await connection.fetchval(LEFT_OUT, run_id),
    )
    return True


async def publish_again(connection: Connection) -> list[int]:
    """Make the `publish` of one job ready in every run whose publication is due. Those jobs."""
    due = [row["job_id"] for row in await connection.fetch(DUE, None)]
    return await jobs.repeat(connection, due, "publish") if due else []


CHUNK = """
SELECT k.text, i.name, i.replaced_at IS NOT NULL AS is_replaced
FROM reference_chunk AS k JOIN reference_index AS i ON i.id = k.index_id
WHERE k.id = $1 AND k.index_id = $2 AND k.chunk_hash = $3
"""

# The row lock lets one job after the other look, so that exactly the last one stores the scores.
LOCK_INDEX = "SELECT name, replaced_at FROM reference_index WHERE id = $1 FOR NO KEY UPDATE"

SCORED = """
SELECT j.subject::bigint AS chunk_id, a.output, j.inputs
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
WHERE j.run_id = $1
"""

SCORERS = f"""
SELECT DISTINCT output ->> 'model' AS scorer_model, output ->> 'model_digest' AS scorer_model_digest,
                output ->> 'prompt_hash' AS prompt_hash, (inputs ->> 'is_circular')::boolean AS allow_same_model
FROM ({SCORED}) AS s
"""

STORE = f"""
WITH scored AS ({SCORED}), stored AS (
    UPDATE reference_chunk AS k SET scores = s.output -> 'scores'
    FROM scored AS s WHERE k.id = s.chunk_id AND k.index_id = $2
    RETURNING k.id
)
SELECT (SELECT count(*) FROM stored) AS stored,
       (SELECT count(*) FROM reference_chunk WHERE index_id = $2) AS chunks
"""


async def chunks(connection: Connection, index_id: int) -> dict[int, str]:
    """The hash of the text of each chunk of an index, by its id; participants ascending, chunks in order."""
    order = "participant_id, ordinal"
    return await rows.pairs(connection, "reference_chunk", "id", "chunk_hash", order=order, index_id=index_id)


async def text_to_score(connection: Connection, index_id: int, chunk_id: int, chunk_hash: str) -> str:
    """The text of a chunk. Raises EmbeddingArtifactMismatchError when scores for its index would come too late."""
    row = await connection.fetchrow(CHUNK, chunk_id, index_id, chunk_hash)
    if row is None:
        raise index_missing(index_id)
    if row["is_replaced"]:
        raise _replaced(index_id, row["name"])
    text: str = row["text"]
    return text


async def store_when_complete(connection: Connection, run_id: int, index_id: int) -> bool:
    """Give the chunks of an index their scores if every job of the run has succeeded; searches see all or none. Called
    in the transaction that ends a job; returns whether this call stored the scores. Raises
    EmbeddingArtifactMismatchError when there is a newer index of the name, or when the jobs used different weights or
    prompts or left a chunk out."""
    index = await connection.fetchrow(LOCK_INDEX, index_id)
    if index is None:
        raise index_missing(index_id)
    if await connection.fetchval("SELECT EXISTS (SELECT FROM job WHERE run_id = $1 AND status <> 'succeeded')", run_id):
        return False
    if index["replaced_at"] is not None:
        raise _replaced(index_id, index["name"])
    scorers = await connection.fetch(SCORERS, run_id)
    if len(scorers) != 1:
        raise EmbeddingArtifactMismatchError(
            f"The jobs of run r{run_id} scored with {len(scorers)} different weights or prompts; score the chunks "
            "again (--new) with one version of the model and of ragq on every worker."
        )
    counts = await connection.fetchrow(STORE, run_id, index_id)
    if counts["stored"] != counts["chunks"]:
        raise EmbeddingArtifactMismatchError(
            f"Run r{run_id} scored {counts['stored']} of {counts['chunks']} chunks of reference index {index_id}; "
            "nothing was stored."
        )
    meta = ChunkScoresMeta(**scorers[0], generated_at=datetime.now(UTC).isoformat())
    await rows.update(connection, "reference_index", {"id": index_id}, chunk_scores_meta=meta.model_dump_json())
    return True


async def scored_by(connection: Connection, index_id: int) -> str:
    """A hash that changes whenever the chunks of an index are scored anew."""
    return content_hash(await rows.value(connection, "reference_index", "chunk_scores_meta", id=index_id))


def _replaced(index_id: int, name: str) -> EmbeddingArtifactMismatchError:
    return EmbeddingArtifactMismatchError(
        f"Reference index {index_id} was replaced by a newer one of its name, which has chunks of its own; score "
        f"those: `ragq index chunk-scores {name}`."
    )
