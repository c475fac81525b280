"""The stages of a job that scores a chunk by itself."""

from schemas.errors import InputChangedError
from schemas.values.participants import ChunkScoresMeta, FinishedBatch
from schemas.values.scoring import ChunkScores
from stages.participants.chunking import PROMPT_HASH, score_chunk
from store.database import Connection
from store.references import chunk_scores
from store.references.chunk_scores import ChunkIdentity
from workers.work import Result, Work


async def run_score(work: Work) -> Result[ChunkScores]:
    """The eight items of a chunk whose index is the current one of its name."""
    inputs = work.claim.inputs
    if inputs["prompt_hash"] != PROMPT_HASH:
        raise InputChangedError(
            f"Run r{work.claim.run_id} was submitted to score with the prompt {inputs['prompt_hash']}, and this worker "
            f"asks by the prompt {PROMPT_HASH}; submit it again with the ragq that the workers run."
        )
    chunk = ChunkIdentity(int(work.claim.subject), inputs["chunk_hash"])
    work.read["chunk"] = chunk.chunk_hash
    text = await work.database.ask(chunk_scores.text_to_score, inputs["index_id"], chunk)
    return Result(await score_chunk(text, chat=work.chat, model=inputs["scorer_model"], settings=work.settings))


async def run_publish(work: Work) -> Result[FinishedBatch]:
    """Finish a chunk; the last of a run gives its index all their scores, in one transaction."""
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
