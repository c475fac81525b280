"""The stages with what a run takes from its settings filled in: the settings' defaults, which arguments override."""

from dataclasses import replace
from functools import partial
from typing import Any

from schemas.settings.preset import ORIGINAL, ConsolidationPreset, RetrievalPreset, preset_of
from schemas.settings.run import RunSettings
from stages.participants.assemble import assemble_prompt as _assemble_prompt
from stages.participants.assemble import reference_block as _reference_block
from stages.participants.chunking import chunk_scores_call as _chunk_scores_call
from stages.participants.chunking import chunk_transcript as _chunk_transcript
from stages.participants.chunking import score_chunk as _score_chunk
from stages.participants.consistency import score_by_consistency as _score_by_consistency
from stages.participants.embed import embed_evidence as _embed_evidence
from stages.participants.extract import extract_by_similarity as _extract_by_similarity
from stages.participants.extract import extract_evidence as _extract_evidence
from stages.participants.extract import extraction_call as _extraction_call
from stages.participants.extract import given_evidence as _given_evidence
from stages.participants.rerank import rank_references as _rank_references
from stages.participants.rerank import reference_filters as _reference_filters
from stages.participants.rerank import rerank_by_cross_encoder as _rerank_by_cross_encoder
from stages.participants.retrieve import retrieve_references as _retrieve_references
from stages.participants.score import ScoringPlan
from stages.participants.validate import validate_references as _validate_references
from stages.participants.validate import verdict_call as _reference_verdict_call
from stages.queries.augment import augment_prompt as _augment_prompt
from stages.queries.consolidate import consolidate_chunks as _consolidate_chunks
from stages.queries.expand import expand_query as _expand_query
from stages.queries.expand import expansion_call as _expansion_call
from stages.queries.ranking import CrossEncoderRanker
from stages.queries.ranking import select_diverse as _select_diverse
from stages.queries.rerank import rerank_chunks as _rerank_chunks
from stages.queries.retrieve import retrieve_chunks as _retrieve_chunks
from stages.queries.templates import answer_call as _answer_call
from stages.queries.templates import generate_answer as _generate_answer
from stages.queries.validate import keep_all as _keep_all
from stages.queries.validate import validate_chunks as _validate_chunks
from stages.queries.validate import verdict_call as _verdict_call
from stages.tags.rerank import rank_tags as _rank_tags

_RUN = RunSettings()
#: The limits of the original pipeline, which the specification of the stages names.
_PRESET = preset_of(ORIGINAL | {"retrieval.fusion": "zscore", "retrieval.lexical": "bm25"}, origin="test")

SHOWN_CHARS = _RUN.ragq.validation_max_chars

chunk_transcript = partial(
    _chunk_transcript,
    size=_RUN.embedding.chunk_size,
    step=_RUN.embedding.chunk_step,
    min_chars=_RUN.embedding.min_evidence_chars,
)
GROUNDING = _RUN.quantitative
extract_evidence = partial(
    _extract_evidence, temperature=_RUN.model.temperature, retries=_RUN.ragq.reply_retries, grounding=GROUNDING
)
extraction_call = partial(_extraction_call, temperature=_RUN.model.temperature)
given_evidence = partial(_given_evidence, grounding=GROUNDING)
extract_by_similarity = partial(
    _extract_by_similarity,
    threshold=_RUN.quantitative.similarity_threshold,
    max_quotes=_RUN.quantitative.similarity_max_quotes,
    truncate=_RUN.ragq.long_texts == "truncate",
)
embed_evidence = partial(
    _embed_evidence,
    min_evidence_chars=_RUN.embedding.min_evidence_chars,
    batch=_RUN.embedding.enable_batch_query_embedding,
    truncate=_RUN.ragq.long_texts == "truncate",
)
retrieve_references = partial(
    _retrieve_references,
    tagged_only=_RUN.embedding.enable_item_tag_filter,
    score_source=_RUN.embedding.reference_score_source,
)
reference_filters = partial(
    _reference_filters,
    min_similarity=_RUN.embedding.min_reference_similarity,
    top_k=_RUN.embedding.top_k_references,
    max_chars=_RUN.embedding.max_reference_chars_per_item,
    repeats=None,
)
rank_references = partial(_rank_references, filters=reference_filters())
rerank_by_cross_encoder = partial(
    _rerank_by_cross_encoder,
    batch_size=_RUN.ragq.reranker_batch_size,
    max_tokens=_RUN.ragq.reranker_max_tokens,
    filters=reference_filters(),
)
validate_references = partial(
    _validate_references,
    max_refs=_RUN.embedding.validation_max_refs_per_item,
    max_chars=SHOWN_CHARS,
    max_tokens=_RUN.ragq.verdict_max_tokens,
    retries=_RUN.ragq.reply_retries,
)
reference_verdict_call = partial(
    _reference_verdict_call, max_chars=SHOWN_CHARS, max_tokens=_RUN.ragq.verdict_max_tokens
)
score_chunk = partial(_score_chunk, max_tokens=_RUN.ragq.chunk_score_max_tokens, retries=_RUN.ragq.reply_retries)
chunk_scores_call = partial(_chunk_scores_call, max_tokens=_RUN.ragq.chunk_score_max_tokens)
assemble_prompt = partial(
    _assemble_prompt,
    passages=None,
    severity_mode=_RUN.quantitative.severity_inference_mode,
    prompt_format=_RUN.ragq.prompt_format,
)
reference_block = partial(_reference_block, prompt_format=_RUN.ragq.prompt_format)
scoring_plan = partial(
    ScoringPlan,
    passages=None,
    temperature=_RUN.model.temperature,
    retries=_RUN.pydantic_ai.retries,
    hold_to_schema=_RUN.ragq.score_schema,
    max_text_chars=_RUN.ragq.score_text_chars or None,
    severity_mode=_RUN.quantitative.severity_inference_mode,
    track_na_reasons=_RUN.quantitative.track_na_reasons,
    token_signals=_RUN.ragq.token_signals,
)
score_by_consistency = partial(
    _score_by_consistency, samples=_RUN.consistency.n_samples, temperature=_RUN.consistency.temperature
)

expand_query = partial(
    _expand_query,
    n=_PRESET.expansion.n,
    temperature=_RUN.ragq.query_temperature,
    max_tokens=_RUN.ragq.query_max_tokens or None,
)
expansion_call = partial(
    _expansion_call, temperature=_RUN.ragq.query_temperature, max_tokens=_RUN.ragq.query_max_tokens or None
)


def retrieval(**values: Any) -> RetrievalPreset:
    """The group of a preset, with these values."""
    return replace(_PRESET.retrieval, **values)


def consolidation(**values: Any) -> ConsolidationPreset:
    """The group of a preset, with these values."""
    return replace(_PRESET.consolidation, **values)


retrieve_chunks = partial(_retrieve_chunks, preset=retrieval())
select_diverse = partial(_select_diverse, mmr_lambda=_PRESET.retrieval.mmr_lambda)
cross_encoder_ranker = partial(
    CrossEncoderRanker,
    batch_size=_PRESET.retrieval.reranker_batch_size,
    max_tokens=_PRESET.retrieval.reranker_max_length,
)
rerank_chunks = partial(
    _rerank_chunks,
    preset=retrieval(),
    allow_empty=_PRESET.validation.allow_empty,
)
keep_all = partial(_keep_all, allow_empty=_PRESET.validation.allow_empty)
validate_chunks = partial(
    _validate_chunks,
    max_chunks=_PRESET.validation.max_chunks,
    max_chars=SHOWN_CHARS,
    max_tokens=_RUN.ragq.verdict_max_tokens,
    retries=_RUN.ragq.reply_retries,
    allow_empty=_PRESET.validation.allow_empty,
)
verdict_call = partial(_verdict_call, max_chars=SHOWN_CHARS, max_tokens=_RUN.ragq.verdict_max_tokens)
consolidate_chunks = partial(_consolidate_chunks, preset=consolidation())
augment_prompt = partial(_augment_prompt, top_n=_PRESET.augmentation.top_n_contexts)
generate_answer = partial(
    _generate_answer, temperature=_RUN.ragq.query_temperature, max_tokens=_RUN.ragq.query_max_tokens or None
)
answer_call = partial(
    _answer_call, temperature=_RUN.ragq.query_temperature, max_tokens=_RUN.ragq.query_max_tokens or None
)

rank_tags = partial(
    _rank_tags, context_weight=_RUN.psq.context_weight, per_phrase_final_k=None, global_k=_RUN.psq.retrieval_global_k
)
