"""Stage `extract` of a participant: quotes per item."""

import structlog

from schemas.settings.quantitative import QuantitativeSettings
from schemas.values.participants import ExtractedEvidence
from stages.participants.extract import extract_evidence, given_evidence
from stages.participants.extract_by_similarity import extract_by_similarity
from stages.participants.grounding import GroundingCheck
from workers.work import Result, Work

log = structlog.get_logger("ragq.evidence")


async def run(work: Work) -> Result[ExtractedEvidence]:
    """By the submission, by a language model, or by similarity: whichever the run is set to."""
    extracted = await _extracted(work, (await work.transcript()).text)
    if work.settings.quantitative.evidence_quote_log_rejections:
        for item, count in extracted.rejected.items():
            log.info("quotes_rejected", job_id=work.claim.job_id, evidence_key=item.evidence_key, quotes=count)
    return Result(extracted)


async def _extracted(work: Work, transcript: str) -> ExtractedEvidence:
    settings = work.settings
    given = work.claim.inputs.get("evidence")
    if given is not None:
        return given_evidence(given, transcript, grounding=_grounding(settings.quantitative))
    if settings.quantitative.evidence_extractor == "similarity":
        return await by_similarity(work, transcript)
    return await extract_evidence(
        transcript,
        chat=work.chat,
        model=settings.model.quantitative_model,
        temperature=settings.model.temperature,
        timeout_s=settings.ollama.timeout_seconds,
        retries=settings.ragq.reply_retries,
        grounding=_grounding(settings.quantitative),
    )


async def by_similarity(work: Work, transcript: str) -> ExtractedEvidence:
    """The utterances nearest to each item, by the settings of the run."""
    settings = work.settings
    return await extract_by_similarity(
        transcript,
        embedder=work.embedder,
        timeout_s=settings.embedding.query_embed_timeout_seconds,
        threshold=settings.quantitative.similarity_threshold,
        max_quotes=settings.quantitative.similarity_max_quotes,
        truncate=settings.ragq.long_texts == "truncate",
    )


def _grounding(settings: QuantitativeSettings) -> GroundingCheck:
    return GroundingCheck(
        enabled=settings.evidence_quote_validation_enabled,
        mode=settings.evidence_quote_validation_mode,
        fuzzy_threshold=settings.evidence_quote_fuzzy_threshold,
        fail_on_all_rejected=settings.evidence_quote_fail_on_all_rejected,
    )
