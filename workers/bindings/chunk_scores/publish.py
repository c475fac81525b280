"""Stage `publish` of chunk scores: the last chunk of a run gives its index all their scores, in one transaction."""

from schemas.values.artifacts import ChunkScoresMeta
from schemas.values.references import FinishedBatch
from schemas.values.scoring import ChunkScores
from store.database import Connection
from store.references import chunk_scores
from workers.work import Result, Work


async def run(work: Work) -> Result[FinishedBatch]:
    """Finish this chunk; give the index its scores when all others are finished too."""
    claim = work.claim
    index_id: int = claim.inputs["index_id"]
    scores = await work.output(ChunkScores)
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
