"""Stage `validate`: a model judges each reference, or each chunk for a question; candidate tags keep a contract."""

import structlog

from schemas.values.participants import ExtractedEvidence, RankedReferences
from stages.participants.audit import RETRIEVED_REFERENCE, retrieved_reference_events
from stages.participants.validate import keep_all, validate_references
from workers.bindings.queries.validate import validate_of_query
from workers.bindings.tags.validate import validate_of_tags
from workers.stage_task import define_stage
from workers.work import Result, Work

log = structlog.get_logger("ragq.audit")


async def validate_of_participant(work: Work) -> Result:
    """Ask about every ranked reference, or keep all when validation is off; then write the audit trail."""
    settings = work.settings
    ranked = await work.output("rerank", RankedReferences)
    if settings.embedding.enable_reference_validation:
        validated = await validate_references(
            ranked,
            extracted=await work.output("extract", ExtractedEvidence),
            chunk_texts=await work.chunk_texts(ranked.items),
            chat=work.chat,
            model=settings.validation_model,
            timeout_s=settings.ollama.timeout_seconds,
            max_refs=settings.embedding.validation_max_refs_per_item,
            max_chars=settings.ragq.validation_max_chars,
        )
    else:
        validated = keep_all(ranked)
    if settings.embedding.enable_retrieval_audit:
        for event in retrieved_reference_events(validated):
            log.info(RETRIEVED_REFERENCE, run_id=work.claim.run_id, job_id=work.claim.job_id, **event)
    return Result(validated)


define_stage("validate", participant=validate_of_participant, query=validate_of_query, tags=validate_of_tags)
