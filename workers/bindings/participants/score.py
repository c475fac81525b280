"""Stage `score`: the eight items of a participant, or of a chunk by itself, scored by a language model."""

from schemas.errors import InputChangedError
from schemas.values.participants import AssembledPrompt, ExtractedEvidence
from stages.participants.chunk_scores import score_chunk
from stages.participants.chunk_scores_prompt import PROMPT_HASH
from stages.participants.consistency import score_by_consistency
from stages.participants.score import ScoringPlan, score_participant
from store.references import chunk_scores
from store.references.chunk_scores import ChunkIdentity
from workers.stage_task import define_stage
from workers.work import Result, Work


async def score_of_participant(work: Work) -> Result:
    """By one reply, or by several samples when consistency is on."""
    settings = work.settings
    prompt = await work.output("assemble", AssembledPrompt)
    extracted = await work.output("extract", ExtractedEvidence)
    plan = ScoringPlan(
        model=settings.model.quantitative_model,
        timeout_s=settings.ollama.timeout_seconds,
        temperature=settings.model.temperature,
        retries=settings.pydantic_ai.retries,
        hold_to_schema=settings.ragq.score_schema,
        max_text_chars=settings.ragq.score_text_chars or None,
        severity_mode=settings.quantitative.severity_inference_mode,
        track_na_reasons=settings.quantitative.track_na_reasons,
        token_signals=settings.ragq.token_signals,
    )
    if not settings.consistency.enabled:
        return Result(await score_participant(prompt, extracted=extracted, chat=work.chat, plan=plan))
    return Result(
        await score_by_consistency(
            prompt,
            extracted=extracted,
            chat=work.chat,
            plan=plan,
            samples=settings.consistency.n_samples,
            temperature=settings.consistency.temperature,
        )
    )


async def score_of_index(work: Work) -> Result:
    """By one reply about one chunk, as long as its index is the current one of its name."""
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
            text, chat=work.chat, model=inputs["scorer_model"], timeout_s=work.settings.ollama.timeout_seconds
        )
    )


define_stage("score", participant=score_of_participant, index=score_of_index)
