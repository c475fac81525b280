"""The groups of the values of a preset, and every value by its name.

A value has a name like `retrieval.dense_limit`: its group and its key.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le, MinLen

from schemas.settings.base import Setting, SettingsGroup, settings_of


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpansionPreset(SettingsGroup):
    """Other wordings of the query."""

    enabled: bool = True
    """Let a language model write search phrases, a hypothetical answer (HyDE), the intent and the entities."""
    n: Annotated[int, Ge(1), Le(10)] = 3
    """Number of search phrases."""
    max_tokens: Annotated[int, Ge(0), Le(100_000)] = 0
    """Maximum tokens of the expansion; one that is cut off there fails the job. 0 uses RAGQ_QUERY_MAX_TOKENS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalPreset(SettingsGroup):
    """The search, and the order of what it finds."""

    dense_limit: Annotated[int, Ge(0), Le(100)] = 50
    """Chunks per vector; 0 disables the search by vector."""
    lexical_limit: Annotated[int, Ge(0), Le(50)] = 50
    """Chunks per text; 0 disables the full-text search."""
    lexical: Literal["bm25", "websearch", "cover_density"] = "bm25"
    """Full-text scorer: BM25 over any term; all terms of a search-box text; or cover density over any term."""
    bm25_k1: Annotated[float, Ge(0), Le(10)] = 0.9
    """Saturation of further occurrences of a term, for `bm25`."""
    bm25_b: Annotated[float, Ge(0), Le(1)] = 0.4
    """Penalty for the length of a chunk, for `bm25`."""
    fusion: Literal["zscore", "rrf", "minmax"] = "zscore"
    """Fusion of both searches into one list: weighted z-scores, reciprocal ranks, or weighted scores from 0 to 1."""
    dense_weight: Annotated[float, Ge(0), Le(1)] = 0.5
    """Share of the search by vector in `zscore` and `minmax`; the full-text search has the rest."""
    rrf_k: Annotated[int, Ge(1), Le(100)] = 50
    """Added to every rank by `rrf`: larger values reduce the differences between ranks."""
    top_k_rrf: Annotated[int, Ge(1), Le(200)] = 200
    """Chunks kept after fusion, whichever fusion runs; at least retrieval.top_n_final."""
    top_n_final: Annotated[int, Ge(1), Le(50)] = 17
    """Chunks in the final selection."""
    entity_boost: Annotated[float, Ge(0), Le(0.5)] = 0.05
    """Added to a chunk's score for each entity of the query that it names."""
    min_word_count: Annotated[int, Ge(0), Le(1000)] = 0
    """Chunks of fewer words are dropped; 0 drops none."""
    min_char_count: Annotated[int, Ge(0), Le(5000)] = 0
    """Chunks of fewer characters are dropped; 0 drops none."""
    keep_if_all_short: bool = True
    """Keep the chunks that are too short if no longer one was found; otherwise the job fails, or has no sources."""
    min_content_length: Annotated[int, Ge(0), Le(5000)] = 750
    """Chunks of fewer characters are shown to the ranker with the lines around them."""
    enrich_lines_above: Annotated[int, Ge(0), Le(50)] = 0
    """Lines added above such a chunk."""
    enrich_lines_below: Annotated[int, Ge(0), Le(50)] = 13
    """Lines added below such a chunk."""
    mmr_lambda: Annotated[float, Ge(0), Le(1)] = 0.7
    """Relevance versus diversity in the selection: 1 is relevance alone, 0 diversity alone."""
    reranker_batch_size: Annotated[int, Ge(1), Le(32)] = 8
    """Pairs in one pass of a cross-encoder."""
    reranker_max_length: Annotated[int, Ge(128), Le(1024)] = 512
    """Tokens of query and chunk that a cross-encoder reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RerankingPreset(SettingsGroup):
    """The ranker of the candidates."""

    ranker: Literal["none", "score-fusion", "cross-encoder"] = "none"
    """The order after fusion; the scores of both searches together; or a cross-encoder."""
    model: Annotated[str, MinLen(1)] = "BAAI/bge-reranker-base"
    """Name or folder of the cross-encoder."""
    without_weights: Literal["fail", "score-fusion"] = "fail"
    """If the cross-encoder cannot be loaded: fail the job, or rank by `score-fusion`, which the answer then states."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationPreset(SettingsGroup):
    """Validation of every selected chunk by a language model."""

    enabled: bool = False
    """Let a language model judge every selected chunk, and keep only accepted ones."""
    model: str = ""
    """Model that judges; if empty, MODEL_JUDGE_MODEL."""
    max_chunks: Annotated[int, Ge(1), Le(50)] = 17
    """Accepted chunks at which judging stops."""
    allow_empty: bool = False
    """Continue without sources when no chunk is accepted, instead of failing the job."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsolidationPreset(SettingsGroup):
    """Merging of neighbouring chunks into one source."""

    enabled: bool = True
    """Group chunks; otherwise the prompt has them as retrieved."""
    coverage_threshold: Annotated[float, Ge(0), Le(1)] = 0.5
    """Share of a section's lines from which the whole section replaces its chunks."""
    line_gap: Annotated[int, Ge(0), Le(50)] = 7
    """Maximum lines from the end of a chunk to the start of the next for joining both."""
    min_content_length: Annotated[int, Ge(0), Le(5000)] = 0
    """Groups of fewer characters are dropped."""
    enrich_from_md: bool = True
    """Read the lines of a group from the work, instead of joining the texts of its chunks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AugmentationPreset(SettingsGroup):
    """The prompt, and the answer to it."""

    top_n_contexts: Annotated[int, Ge(1), Le(20)] = 5
    """Sources in the prompt."""
    max_answer_tokens: Annotated[int, Ge(0), Le(100_000)] = 0
    """Maximum tokens of the answer; one that is cut off there is stored and marked. 0 uses RAGQ_QUERY_MAX_TOKENS."""


PRESET_GROUPS: Final[dict[str, type[SettingsGroup]]] = {
    "expansion": ExpansionPreset,
    "retrieval": RetrievalPreset,
    "reranking": RerankingPreset,
    "validation": ValidationPreset,
    "consolidation": ConsolidationPreset,
    "augmentation": AugmentationPreset,
}
"""The groups under their names in a preset."""

PRESET_SETTINGS: Final[dict[str, Setting]] = {
    f"{name}.{setting.field}": setting._replace(name=f"{name}.{setting.field}")
    for name, group in PRESET_GROUPS.items()
    for setting in settings_of(group)
}
"""Every value of a preset under its name."""
