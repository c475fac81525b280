"""Stage `publish`: the last job of a run to get here makes what all of them did visible, in the same transaction."""

from schemas.errors import InputChangedError
from schemas.values.artifacts import ChunkScoresMeta
from schemas.values.references import EmbeddedChunks, FinishedBatch
from schemas.values.scoring import ChunkScores
from store.database import Connection
from store.references import chunk_scores, index_runs
from workers.bindings.corpora.publish import publish_of_corpus
from workers.stage_task import by_mode, define_stage
from workers.work import Result, Work


async def publish_of_references(work: Work) -> Result:
    """Finish this transcript; publish when all others are finished too, or have failed and may be left out."""
    run_id = work.claim.run_id
    index = await work.database.with_retry(lambda connection: index_runs.by_run(connection, run_id))
    if index is None:
        raise InputChangedError(f"Run r{run_id} has no index to publish.")
    embedded = await work.output("embed", EmbeddedChunks)

    async def publish(connection: Connection) -> None:
        await index_runs.publish_when_complete(connection, run_id)

    return Result(FinishedBatch(index_id=index.id, chunks=embedded.vectors), effect=publish)


async def publish_of_chunk_scores(work: Work) -> Result:
    """Finish this chunk; give the index its scores when all others are finished too."""
    claim = work.claim
    index_id: int = claim.inputs["index_id"]
    scores = await work.output("score", ChunkScores)
    meta = ChunkScoresMeta(
        prompt_hash=scores.prompt_hash,
        scorer_model=scores.model,
        scorer_model_digest=scores.model_digest,
        scorer_backend=work.settings.llm.backend,
        temperature=0.0,
        allow_same_model=claim.inputs["is_circular"],
    )

    async def store(connection: Connection) -> None:
        await chunk_scores.store_when_complete(connection, claim.run_id, index_id, meta)

    return Result(FinishedBatch(index_id=index_id, chunks=1), effect=store)


define_stage(
    "publish",
    index=by_mode(
        {
            "references": publish_of_references,
            "chunk_scores": publish_of_chunk_scores,
            "corpus": publish_of_corpus,
        }
    ),
)
