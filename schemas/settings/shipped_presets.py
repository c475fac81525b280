"""The values of the presets that ragq comes with."""

from collections.abc import Mapping
from typing import Any, Final

BALANCED: Final[dict[str, bool | int | float | str]] = {
    "expansion.enabled": True,
    "expansion.n": 3,
    "expansion.max_tokens": 0,
    "retrieval.dense_limit": 50,
    "retrieval.lexical_limit": 50,
    "retrieval.lexical": "bm25",
    "retrieval.bm25_k1": 0.9,
    "retrieval.bm25_b": 0.4,
    "retrieval.fusion": "zscore",
    "retrieval.dense_weight": 0.5,
    "retrieval.late_weight": 0.0,
    "retrieval.rrf_k": 50,
    "retrieval.top_k_rrf": 200,
    "retrieval.top_n_final": 17,
    "retrieval.entity_boost": 0.05,
    "retrieval.min_word_count": 0,
    "retrieval.min_char_count": 0,
    "retrieval.keep_if_all_short": True,
    "retrieval.min_content_length": 750,
    "retrieval.enrich_lines_above": 0,
    "retrieval.enrich_lines_below": 13,
    "retrieval.mmr_lambda": 0.7,
    "retrieval.reranker_batch_size": 8,
    "retrieval.reranker_max_length": 512,
    "reranking.ranker": "none",
    "reranking.model": "BAAI/bge-reranker-base",
    "reranking.without_weights": "fail",
    "validation.enabled": False,
    "validation.model": "",
    "validation.max_chunks": 17,
    "validation.allow_empty": False,
    "consolidation.enabled": True,
    "consolidation.coverage_threshold": 0.5,
    "consolidation.line_gap": 7,
    "consolidation.min_content_length": 0,
    "consolidation.enrich_from_md": True,
    "augmentation.top_n_contexts": 5,
    "augmentation.max_answer_tokens": 0,
}
"""Every value of a new preset: the defaults of `Preset`, in its order."""

ORIGINAL: Final[dict[str, bool | int | float | str]] = {
    "retrieval.dense_limit": 19,
    "retrieval.lexical_limit": 5,
    "retrieval.lexical": "websearch",
    "retrieval.fusion": "rrf",
    "retrieval.late_weight": 0.0,
    "retrieval.rrf_k": 50,
    "retrieval.top_k_rrf": 75,
    "retrieval.top_n_final": 17,
    "retrieval.entity_boost": 0.05,
    "retrieval.min_word_count": 150,
    "retrieval.min_char_count": 250,
    "retrieval.keep_if_all_short": False,
    "retrieval.min_content_length": 750,
    "retrieval.enrich_lines_above": 0,
    "retrieval.enrich_lines_below": 13,
    "retrieval.mmr_lambda": 0.7,
    "retrieval.reranker_batch_size": 8,
    "retrieval.reranker_max_length": 512,
    "reranking.ranker": "cross-encoder",
    "reranking.model": "BAAI/bge-reranker-base",
    "reranking.without_weights": "score-fusion",
    "expansion.enabled": True,
    "expansion.n": 3,
    "expansion.max_tokens": 0,
    "validation.enabled": False,
    "consolidation.enabled": True,
    "consolidation.coverage_threshold": 0.5,
    "consolidation.line_gap": 7,
    "consolidation.min_content_length": 350,
    "consolidation.enrich_from_md": True,
    "augmentation.top_n_contexts": 5,
    "augmentation.max_answer_tokens": 0,
}
"""The values of the original pipeline, whatever the defaults are."""


def as_shipped(values: Mapping[str, Any]) -> dict[str, bool | int | float | str] | None:
    """Stored values in the order of a preset if each is one that ragq comes with, which fit together in any mixture.

    None for all others: `preset_of` says whether they can be used.

    >>> as_shipped(BALANCED | {"retrieval.fusion": "rrf"})["retrieval.fusion"]
    'rrf'
    >>> as_shipped(BALANCED | {"retrieval.fusion": "sum"}), as_shipped(ORIGINAL)
    (None, None)
    """
    if values.keys() != BALANCED.keys() or not all(map(_is_shipped, values, values.values())):
        return None
    return {name: values[name] for name in BALANCED}


def differing_values(values: Mapping[str, Any]) -> set[str]:
    """The names of the values that are not those of `Balanced`."""
    return {name for name, value in values.items() if value != BALANCED[name]}


def _is_shipped(name: str, value: Any) -> bool:
    """Of the same kind too: 1 is not true, and 0 not 0.0."""
    balanced = BALANCED[name]
    return any(type(value) is type(one) and value == one for one in (balanced, ORIGINAL.get(name, balanced)))
