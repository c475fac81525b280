"""Stage `validate` of a participant: a model, or its similarity, judges each reference."""

import structlog

from schemas.values.participants import ExtractedEvidence, RankedReferences, ValidatedReferences
from stages.participants.audit import RETRIEVED_REFERENCE, retrieved_reference_events
from stages.participants.validate import keep_all, validate_by_similarity, validate_references
from workers.work import Result, Work

log = structlog.get_logger("ragq.audit")


async def run(work: Work) -> Result[ValidatedReferences]:
    """Judge every ranked reference, or keep all when validation is off; then write the audit trail."""
    settings = work.settings
    ranked = await work.output(RankedReferences)
    if not settings.embedding.enable_reference_validation:
        validated = keep_all(ranked)
    elif settings.ragq.reference_validator == "similarity":
        validated = await validate_by_similarity(
            ranked,
            chunk_texts=await work.chunk_texts(ranked.items),
            min_similarity=settings.ragq.reference_similarity,
            max_refs=settings.embedding.validation_max_refs_per_item,
        )
    else:
        validated = await validate_references(
            ranked,
            extracted=await work.output(ExtractedEvidence),
            chunk_texts=await work.chunk_texts(ranked.items),
            chat=work.chat,
            model=settings.validation_model,
            timeout_s=settings.ollama.timeout_seconds,
            max_refs=settings.embedding.validation_max_refs_per_item,
            max_chars=settings.ragq.validation_max_chars,
            max_tokens=settings.ragq.verdict_max_tokens,
            retries=settings.ragq.reply_retries,
        )
    if settings.embedding.enable_retrieval_audit:
        for event in retrieved_reference_events(validated):
            log.info(RETRIEVED_REFERENCE, run_id=work.claim.run_id, job_id=work.claim.job_id, **event)
    return Result(validated)
