"""Stage `score` of a participant: the eight items."""

from schemas.values.participants import AssembledPrompt, EmbeddedEvidence, ExtractedEvidence
from schemas.values.scoring import ParticipantScores
from stages.participants.consistency import score_by_consistency
from stages.participants.passages import passages_of
from stages.participants.score import ScoringPlan, score_participant
from stages.participants.score_by_neighbours import score_by_neighbours
from stages.participants.splits import ids_hash
from workers.work import Result, Work


async def run(work: Work) -> Result[ParticipantScores]:
    """By the nearest evidence of the index, by one reply, or by several samples when consistency is on."""
    settings = work.settings
    prompt = await work.output(AssembledPrompt)
    extracted = await work.output(ExtractedEvidence)
    if settings.ragq.scorer == "neighbours":
        index_id: int = work.claim.inputs["index_id"]
        excluded: list[int] = work.claim.inputs["excluded"]
        work.read["index"], work.read["excluded"] = index_id, ids_hash(excluded)
        return Result(
            await score_by_neighbours(
                await work.output(EmbeddedEvidence),
                await work.vectors(EmbeddedEvidence),
                extracted=extracted,
                prompt=prompt,
                search=work.evidence,
                index_id=index_id,
                participant_id=work.number_in_index,
                excluded=excluded,
                neighbours=settings.ragq.neighbours,
                track_na_reasons=settings.quantitative.track_na_reasons,
            )
        )
    passages = None
    if settings.ragq.score_input == "evidence":
        passages = passages_of((await work.transcript()).text, extracted.quotes)
    plan = ScoringPlan(
        model=settings.model.quantitative_model,
        timeout_s=settings.score_timeout_s,
        temperature=settings.model.temperature,
        retries=settings.pydantic_ai.retries,
        hold_to_schema=settings.ragq.score_schema,
        max_text_chars=settings.ragq.score_text_chars or None,
        severity_mode=settings.quantitative.severity_inference_mode,
        passages=passages,
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
