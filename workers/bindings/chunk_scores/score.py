"""Stage `score` of a chunk: the eight items, by a language model that sees nothing else."""

from schemas.errors import InputChangedError
from schemas.values.scoring import ChunkScores
from stages.participants.chunk_scores import score_chunk
from stages.participants.chunk_scores_prompt import PROMPT_HASH
from store.references import chunk_scores
from store.references.chunk_scores import ChunkIdentity
from workers.work import Result, Work


async def run(work: Work) -> Result[ChunkScores]:
    """By replies about one chunk, as long as its index is the current one of its name."""
    inputs = work.claim.inputs
    if inputs["prompt_hash"] != PROMPT_HASH:
        raise InputChangedError(
            f"Run r{work.claim.run_id} was submitted to score with the prompt {inputs['prompt_hash']}, and this worker "
            f"asks by the prompt {PROMPT_HASH}; submit it again with the ragq that the workers run."
        )
    chunk = ChunkIdentity(int(work.claim.subject), inputs["chunk_hash"])
    work.read["chunk"] = chunk.chunk_hash
    text = await work.database.with_retry(
        lambda connection: chunk_scores.text_to_score(connection, inputs["index_id"], chunk)
    )
    return Result(
        await score_chunk(
            text,
            chat=work.chat,
            model=inputs["scorer_model"],
            timeout_s=work.settings.ollama.timeout_seconds,
            max_tokens=work.settings.ragq.chunk_score_max_tokens,
            retries=work.settings.ragq.reply_retries,
        )
    )
