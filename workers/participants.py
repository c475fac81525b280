"""The stages of a participant job."""

import structlog

from schemas.errors import EmbeddingArtifactMismatchError, InputChangedError
from schemas.settings.run import RunSettings
from schemas.values.participants import (
    AssembledPrompt,
    AssessmentMode,
    EmbeddedEvidence,
    ExtractedEvidence,
    RankedReferences,
    RetrievedReferences,
    ValidatedReferences,
)
from schemas.values.scoring import ParticipantScores
from stages.models import refuse_mixture
from stages.participants.assemble import assemble_prompt
from stages.participants.consistency import score_by_consistency
from stages.participants.embed import embed_evidence
from stages.participants.extract import (
    extract_by_similarity,
    extract_evidence,
    given_evidence,
    passages_of,
)
from stages.participants.rerank import (
    RETRIEVED_REFERENCE,
    ReferenceFilters,
    by_place,
    rank_references,
    reference_filters,
    rerank_by_cross_encoder,
    retrieved_reference_events,
)
from stages.participants.retrieve import retrieve_references
from stages.participants.score import ScoringPlan, score_participant
from stages.participants.score_by_neighbours import score_by_neighbours
from stages.participants.splits import ids_hash
from stages.participants.validate import keep_all, validate_by_similarity, validate_references
from store.references import chunk_scores, references
from workers.work import Result, Work

log = structlog.get_logger("ragq.evidence")


async def run_extract(work: Work) -> Result[ExtractedEvidence]:
    """Quotes per item.

    By the submission, by a language model, or by similarity: whichever the run is set to.
    """
    extracted = await _extracted(work, await work.transcript())
    if work.settings.quantitative.evidence_quote_log_rejections:
        for item, count in extracted.rejected.items():
            log.info("quotes_rejected", job_id=work.claim.job_id, evidence_key=item.evidence_key, quotes=count)
    return Result(extracted)


async def _extracted(work: Work, transcript: str) -> ExtractedEvidence:
    settings = work.settings
    given = work.claim.inputs.get("evidence")
    if given is not None:
        return given_evidence(given, transcript, grounding=settings.quantitative)
    if settings.quantitative.evidence_extractor == "similarity":
        return await by_similarity(work, transcript)
    return await extract_evidence(
        transcript,
        chat=work.chat,
        model=settings.model.quantitative_model,
        temperature=settings.model.temperature,
        timeout_s=settings.ollama.timeout_seconds,
        retries=settings.ragq.reply_retries,
        grounding=settings.quantitative,
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


async def run_embed(work: Work) -> Result[EmbeddedEvidence]:
    """One vector per item with evidence.

    All items with evidence in one call, by the same weights as the reference index.
    """
    settings = work.settings.embedding
    extracted = await work.output(ExtractedEvidence)
    embedder = work.reusing_embedder(settings.dimension)
    embedded, vectors = await embed_evidence(
        extracted,
        embedder=embedder,
        dimension=settings.dimension,
        timeout_s=settings.query_embed_timeout_seconds,
        min_evidence_chars=settings.min_evidence_chars,
        batch=settings.enable_batch_query_embedding,
        truncate=work.settings.ragq.long_texts == "truncate",
    )
    # An index that was imported from files may not name the weights; its model's name was compared at submission.
    built_with = work.claim.inputs["index_model_digest"]
    if embedded.items and built_with is not None and embedded.model_digest != built_with:
        raise EmbeddingArtifactMismatchError(
            f"The weights of {embedded.model} are {embedded.model_digest[:12] or 'unknown'}, and the "
            f"reference index was built with {built_with[:12] or 'unknown'}; build the index again on this model."
        )
    if embedded.items:
        made_with = await work.database.ask(references.model_dtypes, work.claim.inputs["index_id"])
        refuse_mixture(embedded.dtype, made_with, what="The reference index")
    return Result(embedded, vectors, texts=embedder.texts)


async def run_retrieve(work: Work) -> Result[RetrievedReferences]:
    """The nearest references per item.

    All items in one round trip; the participants of the run's own split are left out.
    """
    embedded = await work.output(EmbeddedEvidence)
    index_id: int = work.claim.inputs["index_id"]
    work.read["index"] = index_id
    excluded: list[int] = work.claim.inputs["excluded"]
    if excluded:
        work.read["excluded"] = ids_hash(excluded)
    retrieved = await retrieve_references(
        embedded,
        await work.vectors(EmbeddedEvidence),
        search=work.references,
        index_id=index_id,
        participant_id=work.number_in_index,
        excluded=excluded,
        candidates=work.settings.ragq.retrieve_candidates,
        tagged_only=work.settings.embedding.enable_item_tag_filter,
        score_source=work.settings.embedding.reference_score_source,
    )
    # After the search: scores that were stored during it are noticed too.
    await _refuse_other_scores(work, index_id)
    return Result(retrieved)


async def _refuse_other_scores(work: Work, index_id: int) -> None:
    submitted_on = work.claim.inputs.get("chunk_scores")
    if submitted_on is None:
        return
    found = await work.database.ask(chunk_scores.scored_by, index_id)
    if found != submitted_on:
        raise InputChangedError(
            f"The chunks of reference index {index_id} were scored anew since run r{work.claim.run_id} was submitted; "
            "submit it again, so that all its participants see the same scores."
        )


async def run_rerank(work: Work) -> Result[RankedReferences]:
    """Order and filters of references.

    The order of each item, by the cross-encoder where the run has one, and the run's filters.
    """
    ragq = work.settings.ragq
    retrieved = await work.output(RetrievedReferences)
    filters = _filters(work.settings)
    if ragq.reranker == "similarity":
        return Result(rank_references(retrieved, filters=filters))
    return Result(
        await rerank_by_cross_encoder(
            retrieved,
            extracted=await work.output(ExtractedEvidence),
            chunk_texts=await work.chunk_texts(retrieved.items),
            scorer=work.pair_scorer(ragq.reranker_model),
            timeout_s=ragq.reranker_timeout_seconds,
            batch_size=ragq.reranker_batch_size,
            max_tokens=ragq.reranker_max_tokens,
            filters=filters,
        )
    )


def _filters(settings: RunSettings) -> ReferenceFilters:
    embedding = settings.embedding
    overlap = by_place(size=embedding.chunk_size, step=embedding.chunk_step)
    return reference_filters(
        min_similarity=embedding.min_reference_similarity,
        top_k=embedding.top_k_references,
        max_chars=embedding.max_reference_chars_per_item,
        repeats=overlap if settings.ragq.deduplicate_references else None,
    )


audit_log = structlog.get_logger("ragq.audit")


async def run_validate(work: Work) -> Result[ValidatedReferences]:
    """A model, or its similarity, judges each reference.

    Judge every ranked reference, or keep all when validation is off; then write the audit trail.
    """
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
            audit_log.info(RETRIEVED_REFERENCE, run_id=work.claim.run_id, job_id=work.claim.job_id, **event)
    return Result(validated)


async def run_assemble(work: Work) -> Result[AssembledPrompt]:
    """The reference block and the scoring prompt.

    The prompt with the validated references; in zero-shot mode without any.

    It fits into the context of the model that is going to score, as far as that is known.
    """
    items = None
    if work.claim.mode == AssessmentMode.FEW_SHOT:
        items = (await work.output(ValidatedReferences)).items
    transcript = await work.transcript()
    passages = None
    if work.settings.ragq.score_input == "evidence":
        passages = passages_of(transcript, (await work.output(ExtractedEvidence)).quotes)
    context_tokens = None
    if items and work.settings.ragq.scorer == "model":
        context_tokens = work.settings.ragq.context_tokens or await work.reported_context(
            work.settings.model.quantitative_model
        )
        work.read["context_tokens"] = context_tokens
    return Result(
        assemble_prompt(
            transcript,
            items,
            await work.chunk_texts(items or {}),
            passages=passages,
            severity_mode=work.settings.quantitative.severity_inference_mode,
            prompt_format=work.settings.ragq.prompt_format,
            context_tokens=context_tokens,
        )
    )


async def run_score(work: Work) -> Result[ParticipantScores]:
    """The eight items.

    By the nearest evidence of the index, by one reply, or by several samples when consistency is on.
    """
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
        passages = passages_of(await work.transcript(), extracted.quotes)
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
