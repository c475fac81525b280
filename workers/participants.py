"""The stages of participants, of indexing their transcripts, and of scoring the chunks of an index."""

from functools import partial

import structlog

from schemas.errors import DomainError, EmbeddingArtifactMismatchError, EmptyTranscriptError, FailureCategory
from schemas.values.documents import PublishedBatch
from schemas.values.participants import (
    AssembledPrompt,
    AssessmentMode,
    Chunk,
    ChunkedTranscript,
    EmbeddedEvidence,
    ExtractedEvidence,
    PHQ8Item,
    RankedReferences,
    RetrievedReferences,
    ValidatedReferences,
)
from schemas.values.scoring import ChunkScores, ParticipantScores
from stages.models import refuse_mixture
from stages.participants.assemble import assemble_prompt
from stages.participants.chunking import PROMPT_HASH, chunk_transcript, score_chunk, tag_chunk
from stages.participants.embed import embed_evidence
from stages.participants.extract import extract_by_similarity, extract_evidence, given_evidence, passages_of
from stages.participants.rerank import rank_references, rerank_by_cross_encoder, retrieved_reference_events
from stages.participants.retrieve import never_used, retrieve_references
from stages.participants.score import score_by_neighbours, score_participant
from stages.participants.splits import ids_hash
from stages.participants.validate import keep_all, validate_by_similarity, validate_references
from stages.texts.characters import short_hash
from store.references import index_runs, references
from store.references.references import PostgresReferenceSearch
from workers.work import Result, Work

log = structlog.get_logger("ragq.evidence")


async def run_extract(work: Work) -> ExtractedEvidence:
    """Quotes per item: given, by a language model, or by similarity."""
    settings, transcript, given = work.settings, await work.transcript(), work.claim.inputs.get("evidence")
    if given is not None:
        extracted = given_evidence(given, transcript, grounding=settings.quantitative)
    elif settings.quantitative.evidence_extractor == "similarity":
        extracted = await extract_by_similarity(transcript, embedder=work.embedder, settings=settings)
    else:
        extracted = await extract_evidence(transcript, chat=work.chat, settings=settings)
    if settings.quantitative.evidence_quote_log_rejections:
        for item, count in extracted.rejected.items():
            log.info("quotes_rejected", job_id=work.claim.job_id, evidence_key=item.evidence_key, quotes=count)
    return extracted


async def run_embed(work: Work) -> Result[EmbeddedEvidence]:
    """A vector per item with evidence, in one call, by the same weights as the reference index."""
    embedder = work.reusing_embedder(work.settings.embedding.dimension)
    embedded, vectors = await embed_evidence(
        await work.output(ExtractedEvidence),
        in_one_call=work.settings.embedding.enable_batch_query_embedding,
        embedder=embedder,
        settings=work.settings,
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


async def run_retrieve(work: Work) -> RetrievedReferences:
    """The nearest references of all items in one round trip, without participants of the run's own split."""
    embedded = await work.output(EmbeddedEvidence)
    index_id, left_out = _searched(work)
    retrieved = await retrieve_references(
        embedded,
        await work.vectors(EmbeddedEvidence),
        search=PostgresReferenceSearch(work.database),
        index_id=index_id,
        left_out=left_out,
        settings=work.settings,
    )
    # After the search: scores that were stored during it are noticed too.
    submitted_on = work.claim.inputs.get("chunk_scores")
    if submitted_on is not None and submitted_on != await work.database.ask(index_runs.scored_by, index_id):
        raise DomainError(
            f"The chunks of reference index {index_id} were scored anew since run r{work.claim.run_id} was submitted; "
            "submit it again, so that all its participants see the same scores.",
            FailureCategory.INPUT_CHANGED,
        )
    return retrieved


def _searched(work: Work) -> tuple[int, set[int]]:
    """The reference index of a job, and who of it is left out."""
    inputs = work.claim.inputs
    work.read["index"], work.read["excluded"] = inputs["index_id"], ids_hash(inputs["excluded"])
    # In an index of another data set the number is another person's.
    number = work.participant_id if inputs["index_data_set"] == inputs["data_set"] else None
    return inputs["index_id"], never_used(number, inputs["excluded"])


async def run_rerank(work: Work) -> RankedReferences:
    """The references in their order, by the cross-encoder where the run has one, after the filters."""
    retrieved = await work.output(RetrievedReferences)
    if work.settings.ragq.reranker == "similarity":
        return rank_references(retrieved, work.settings)
    return await rerank_by_cross_encoder(
        retrieved,
        extracted=await work.output(ExtractedEvidence),
        chunk_texts=await work.chunk_texts(retrieved.items),
        scorer=work.wiring.pair_scorer(work.settings.ragq.reranker_model),
        settings=work.settings,
    )


audit_log = structlog.get_logger("ragq.audit")


async def run_validate(work: Work) -> ValidatedReferences:
    """The references that are accepted, or all when validation is off; with the audit trail."""
    settings = work.settings
    ranked = await work.output(RankedReferences)
    if not settings.embedding.enable_reference_validation:
        validated = keep_all(ranked)
    elif settings.ragq.reference_validator == "similarity":
        texts = await work.chunk_texts(ranked.items)
        validated = await validate_by_similarity(ranked, chunk_texts=texts, settings=settings)
    else:
        validated = await validate_references(
            ranked,
            extracted=await work.output(ExtractedEvidence),
            chunk_texts=await work.chunk_texts(ranked.items),
            chat=work.chat,
            settings=settings,
        )
    if settings.embedding.enable_retrieval_audit:
        for event in retrieved_reference_events(validated):
            audit_log.info("retrieved_reference", run_id=work.claim.run_id, job_id=work.claim.job_id, **event)
    return validated


async def run_assemble(work: Work) -> AssembledPrompt:
    """The scoring prompt, with references in few-shot mode; it fits into the context of the model that is to score."""
    items = None
    if work.claim.mode == AssessmentMode.FEW_SHOT:
        items = (await work.output(ValidatedReferences)).items
    context_tokens = None
    if items and work.settings.ragq.scorer == "model":
        context_tokens = work.settings.ragq.context_tokens or await work.reported_context(
            work.settings.model.quantitative_model
        )
        work.read["context_tokens"] = context_tokens
    return assemble_prompt(
        await work.transcript(),
        items,
        await work.chunk_texts(items or {}),
        passages=await _passages(work),
        settings=work.settings,
        context_tokens=context_tokens,
    )


async def _passages(work: Work) -> dict[PHQ8Item, str] | None:
    """What the prompt shows of the transcript; None where it shows all."""
    if work.settings.ragq.score_input != "evidence":
        return None
    return passages_of(await work.transcript(), (await work.output(ExtractedEvidence)).quotes)


async def run_score(work: Work) -> ParticipantScores:
    """The eight items: by the nearest evidence of the index, by one reply, or by several samples."""
    settings = work.settings
    prompt = await work.output(AssembledPrompt)
    extracted = await work.output(ExtractedEvidence)
    if settings.ragq.scorer == "neighbours":
        index_id, left_out = _searched(work)
        return await score_by_neighbours(
            await work.output(EmbeddedEvidence),
            await work.vectors(EmbeddedEvidence),
            extracted=extracted,
            prompt=prompt,
            search=PostgresReferenceSearch(work.database),
            index_id=index_id,
            left_out=left_out,
            settings=settings,
        )
    return await score_participant(
        prompt, extracted=extracted, chat=work.chat, settings=settings, passages=await _passages(work)
    )


async def index_chunk(work: Work) -> ChunkedTranscript:
    """The windows of the transcript, with tags; without any window the job fails."""
    settings = work.settings.embedding
    texts = chunk_transcript(await work.transcript(), settings)
    if not texts:
        raise EmptyTranscriptError(
            f"The transcript of participant {work.participant_id} has no chunk of EMBEDDING_MIN_EVIDENCE_CHARS="
            f"{settings.min_evidence_chars} characters; import a fuller one or leave the participant out."
        )
    person = work.participant_id
    return ChunkedTranscript(
        chunks=tuple(
            Chunk(participant_id=person, ordinal=at, text=text, chunk_hash=short_hash(text), tags=tag_chunk(text))
            for at, text in enumerate(texts)
        )
    )


async def index_extract(work: Work) -> ExtractedEvidence:
    """The utterances nearest to each item, for scores by neighbours, whatever the extractor of the settings."""
    transcript = await work.transcript()
    return await extract_by_similarity(transcript, embedder=work.embedder, settings=work.settings)


async def index_embed(work: Work) -> Result[EmbeddedEvidence]:
    """The windows and the evidence of a transcript in one call; any bad vector fails the job."""
    embedder = work.reusing_embedder(work.settings.embedding.dimension)
    embedded, vectors = await embed_evidence(
        await work.output_if_stored(ExtractedEvidence),
        chunks=[chunk.text for chunk in (await work.output(ChunkedTranscript)).chunks],
        in_one_call=True,
        embedder=embedder,
        settings=work.settings,
    )
    return Result(embedded, vectors, texts=embedder.texts)


async def index_publish(work: Work) -> Result[PublishedBatch]:
    """Finish a transcript; the last of a run makes the whole index visible, in the same transaction."""
    embedded = await work.output(EmbeddedEvidence)
    publish = partial(index_runs.publish_when_complete, run_id=work.claim.run_id)
    return Result(PublishedBatch(chunks=embedded.chunk_vectors), effect=publish)


async def chunk_score(work: Work) -> ChunkScores:
    """The eight items of a chunk whose index is the current one of its name."""
    inputs = work.claim.inputs
    if inputs["prompt_hash"] != PROMPT_HASH:
        raise DomainError(
            f"Run r{work.claim.run_id} was submitted to score with the prompt {inputs['prompt_hash']}, and this worker "
            f"asks by the prompt {PROMPT_HASH}; submit it again with the ragq that the workers run.",
            FailureCategory.INPUT_CHANGED,
        )
    work.read["chunk"] = inputs["chunk_hash"]
    text = await work.database.ask(
        index_runs.text_to_score, inputs["index_id"], int(work.claim.subject), inputs["chunk_hash"]
    )
    return await score_chunk(text, chat=work.chat, model=inputs["scorer_model"], settings=work.settings)


async def chunk_publish(work: Work) -> Result[PublishedBatch]:
    """Finish a chunk; the last of a run gives its index all their scores, in one transaction."""
    claim = work.claim
    store = partial(index_runs.store_when_complete, run_id=claim.run_id, index_id=claim.inputs["index_id"])
    return Result(PublishedBatch(chunks=1), effect=store)
