"""What a bundle without text lacks: every string that is not listed here, so that a new field is withheld."""

import re
from collections.abc import Mapping
from typing import Any, Final

from schemas.chains import CHAINS
from schemas.values.base import Value
from schemas.values.bundles import Content, columns_with
from schemas.values.phq8 import PHQ8Item
from stages.bundles.field_names import field_names
from stages.bundles.marks import WITHHELD

KEPT_STRINGS: Final = frozenset(
    {
        # Models, weights and formats
        "model", "model_digest", "digest", "dtype", "backend", "sentence_model", "sentence_digest", "context_digest",
        "similarity_digest", "tokens_digest", "validator", "ranker", "ranker_digest", "fusion", "lexical",
        # Identities
        "chunk_hash", "prompt_hash", "work_hashes", "transcript_variant", "by", "job",
        # Decisions and states
        "extractor", "decision", "origin", "context_source", "role", "stop_reason", "reasks", "repairs", "na_reason",
        "inference_type", "evidence_source", "minimum_severity", "maximum_severity", "severity", "leg", "level",
        "check",
        # Items, labels of sources, names of tags: what a result is
        "items", "cut_items", "cited", "unknown", "label", "tag", "required",
    }
)  # fmt: skip
"""Fields whose strings are names, hashes and states."""

KEPT_VALUES: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"original", "mqe", "hyde"}),
    "texts": frozenset({"original", "mqe", "hyde"}),
    "intent": frozenset({"DEFINITION", "MECHANISM", "COMPARISON", "APPLICATION", "STUDY_DETAIL", "CRITIQUE"}),
}
"""Fields that hold one of these names, or a text."""

WITHHELD_NUMBERS: Final = frozenset({"context"})
"""Fields whose numbers are computed from text so that the text could be guessed."""

_ITEMS: Final = frozenset(item.value for item in PHQ8Item) | frozenset(item.evidence_key for item in PHQ8Item)

_KEYS: Final = (
    frozenset(name for chain in CHAINS.values() for stage in chain for name in field_names(stage.output))
    | frozenset(stage.name for chain in CHAINS.values() for stage in chain)
    | _ITEMS
    | frozenset(
        {
            # Filters
            "tags", "threshold", "duplicate", "top_k", "budget", "min_chars", "min_words", "blank",
            # Inputs of jobs and attempts
            "transcript", "transcript_hash", "transcript_variant", "index", "index_id", "excluded", "corpus",
            "corpus_id", "query", "query_hash", "chunk", "chunks", "chunk_ids", "seed", "vectors", "sentences",
            "phrases", "context_tags", "vocabulary", "vocabulary_id", "min_tag_count", "allow_nsfw_tags", "model",
            "works", "corpus_ids", "author", "title", "year_from", "year_to",
            "light_model", "takes_default", "top_n", "templates", "by", "from", "job", "attempt", "backend", "digest",
            "model_digest", "tokens_digest", "context_digest", "similarity_digest", "evidence", "ground_truth",
            "expansion", "origin", "reply", "response", "moved_from", "imported", "template", "answer",
            "answer_hash", "reference_hash", "result_id", "prompt", "verdicts_at_most",
            # Calls
            "messages", "role", "content", "temperature", "json_mode", "json_schema", "max_tokens", "sample", "draw",
            "top_logprobs",
        }
    )
)  # fmt: skip
"""Keys of objects that are names of the program. Any other key may be text: a phrase, say."""

_KEPT_KEYS_OF: Final = frozenset({"phrase_rank_by_tag", "templates"})
"""Objects whose keys are names of tags and templates."""

_HASH: Final = re.compile(r"[0-9a-f]{12}|[0-9a-f]{64}")
_TEMPLATE: Final = re.compile(r"template [a-z_]{1,40}")


def without_text(value: Any, field: str = "") -> Any:
    """A JSON value in which each text is `[withheld]`; its shape, numbers, names and hashes stay.

    >>> without_text({"model": "gemma3", "text": "I wake at four", "items": {"Sleep": 2}, "at four": 1})
    {'model': 'gemma3', 'text': '[withheld]', 'items': {'Sleep': 2}, '[withheld 1]': 1}
    """
    if isinstance(value, Mapping):
        if field == "json_schema":
            return WITHHELD
        kept: dict[str, Any] = {}
        for key, inner in value.items():
            is_name = key in _KEYS or field in _KEPT_KEYS_OF or key.isdecimal() or _TEMPLATE.fullmatch(key)
            # An object whose keys are no names, such as scores by item, hands its own name on.
            kept[key if is_name else f"[withheld {len(kept) + 1 - _named(kept)}]"] = without_text(
                inner, field if key.isdecimal() or key in _ITEMS else key
            )
        return kept
    if isinstance(value, list | tuple):
        return [without_text(inner, field) for inner in value]
    if isinstance(value, str):
        return value if _is_kept(value, field) else WITHHELD
    return None if field in WITHHELD_NUMBERS and value is not None else value


def _named(kept: Mapping[str, Any]) -> int:
    return sum(not key.startswith("[withheld ") for key in kept)


def _is_kept(value: str, field: str) -> bool:
    return field in KEPT_STRINGS or value in KEPT_VALUES.get(field, ()) or _HASH.fullmatch(value) is not None


def withhold(row: Value) -> Value:
    """A row without its text."""
    texts, documents = columns_with(Content.TEXT, type(row)), columns_with(Content.DOCUMENT, type(row))
    changes: dict[str, Any] = {
        name: WITHHELD if isinstance(getattr(row, name), str) else None
        for name in texts
        if getattr(row, name) is not None
    }
    changes |= {name: without_text(getattr(row, name)) for name in documents}
    return row.model_copy(update=changes)
