"""Presets: the settings of expansion, search, ranking, validation and prompts of queries."""

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal, Self

from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel, ConfigDict, model_validator

from schemas.errors import PresetValueError
from schemas.settings.base import Layer, SettingsGroup, checked, disagreement, given_in, settings_in, unknown_name

# A value has a name like `retrieval.dense_limit`: its group and its key.


class ExpansionPreset(SettingsGroup):
    """Other wordings of the query."""

    n: Annotated[int, Ge(1), Le(10)] = 3
    """Number of search phrases."""


class RetrievalPreset(SettingsGroup):
    """The search, and the order of what it finds."""

    dense_limit: Annotated[int, Ge(0), Le(100)] = 50
    """Chunks per vector; 0 disables the search by vector."""
    lexical_limit: Annotated[int, Ge(0), Le(50)] = 50
    """Chunks per text; 0 disables the full-text search."""
    lexical: Literal["bm25", "websearch"] = "bm25"
    """Full-text scorer: BM25 over any term, or cover density over all terms of a search-box text."""
    bm25_k1: Annotated[float, Ge(0), Le(10)] = 0.9
    """Saturation of further occurrences of a term, for `bm25`."""
    bm25_b: Annotated[float, Ge(0), Le(1)] = 0.4
    """Penalty for the length of a chunk, for `bm25`."""
    fusion: Literal["zscore", "rrf"] = "zscore"
    """Fusion of both searches into one list: weighted z-scores, or reciprocal ranks."""
    dense_weight: Annotated[float, Ge(0), Le(1)] = 0.5
    """Share of the search by vector in `zscore`; the full-text search has the rest."""
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


class RerankingPreset(SettingsGroup):
    """The ranker of the candidates."""

    ranker: Literal["none", "score-fusion", "cross-encoder"] = "none"
    """The order after fusion; the scores of both searches together; or a cross-encoder."""
    model: Annotated[str, MinLen(1)] = "BAAI/bge-reranker-base"
    """Name or folder of the cross-encoder."""
    without_weights: Literal["fail", "score-fusion"] = "fail"
    """If the cross-encoder cannot be loaded: fail the job, or rank by `score-fusion`, which the answer then states."""


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


class ConsolidationPreset(SettingsGroup):
    """Merging of neighbouring chunks into one source."""

    coverage_threshold: Annotated[float, Ge(0), Le(1)] = 0.5
    """Share of a section's lines from which the whole section replaces its chunks."""
    line_gap: Annotated[int, Ge(0), Le(50)] = 7
    """Maximum lines from the end of a chunk to the start of the next for joining both."""
    min_content_length: Annotated[int, Ge(0), Le(5000)] = 0
    """Groups of fewer characters are dropped."""
    enrich_from_md: bool = True
    """Read the lines of a group from the work, instead of joining the texts of its chunks."""


class AugmentationPreset(SettingsGroup):
    """The prompt, and the answer to it."""

    top_n_contexts: Annotated[int, Ge(1), Le(20)] = 5
    """Sources in the prompt."""
    max_answer_tokens: Annotated[int, Ge(0), Le(100_000)] = 0
    """Maximum tokens of the answer; one that is cut off there is stored and marked. 0 uses RAGQ_QUERY_MAX_TOKENS."""


def is_preset_name(name: str) -> bool:
    """Whether a name of a run's snapshot is that of a preset's value: names of settings have no dot."""
    return "." in name


DEFAULT_ALIAS: Final = "default"
"""Stands for the preset that is the default, wherever a preset is named."""

_NAME = re.compile(r"[A-Za-z0-9 _-]{1,100}")


def by_name(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The values in groups under their names, such as `retrieval.dense_limit`."""
    return {f"{group}.{key}": value for group, keys in groups.items() for key, value in keys.items()}


class Preset(BaseModel):
    """Every value of a preset. The defaults are those of `Balanced`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expansion: ExpansionPreset = ExpansionPreset()
    retrieval: RetrievalPreset = RetrievalPreset()
    reranking: RerankingPreset = RerankingPreset()
    validation: ValidationPreset = ValidationPreset()
    consolidation: ConsolidationPreset = ConsolidationPreset()
    augmentation: AugmentationPreset = AugmentationPreset()

    @model_validator(mode="after")
    def _the_search_finds_enough_to_choose_from(self) -> Self:
        kept, selected = self.retrieval.top_k_rrf, self.retrieval.top_n_final
        if kept < selected:
            raise disagreement(
                f"retrieval.top_k_rrf={kept} is less than retrieval.top_n_final={selected}, so fusion would keep fewer "
                "chunks than are to be selected; raise the first or lower the second",
                "retrieval.top_k_rrf",
                "retrieval.top_n_final",
            )
        if not self.retrieval.dense_limit and not self.retrieval.lexical_limit:
            raise disagreement(
                "retrieval.dense_limit and retrieval.lexical_limit are both 0, so nothing would be searched; raise one",
                "retrieval.dense_limit",
                "retrieval.lexical_limit",
            )
        return self

    def values(self) -> dict[str, bool | int | float | str]:
        """Every value under its name, in the order of PRESET_SETTINGS."""
        return by_name(self.model_dump())

    def changed(self, values: Mapping[str, Any], *, origin: str) -> "Preset":
        """This preset with other values under their names, which may be texts. Raises PresetValueError with every
        problem. `origin` is the source of the values."""
        unknown = [
            unknown_name(name, origin, PRESET_SETTINGS, what="value of a preset")
            for name in values
            if name not in PRESET_SETTINGS
        ]
        layers = (Layer("preset", self.values()), Layer(origin, values))
        preset, problems = checked(Preset, given_in(layers, PRESET_SETTINGS), PRESET_SETTINGS)
        problems = [*unknown, *problems]
        if preset is not None and not problems:
            return preset
        heading = "1 value" if len(problems) == 1 else f"{len(problems)} values"
        lines = [f"{heading} of the preset cannot be used:", *(f"- {problem}" for problem in problems)]
        lines.append("`ragq preset show` lists every value and what it accepts.")
        raise PresetValueError("\n".join(lines), problems=problems)

    def snapshot(self, name: str, *, options: Collection[str] = ()) -> dict[str, dict[str, Any]]:
        """The snapshot that is frozen into a run, in the form of EffectiveSettings.snapshot(). The source is the preset
        of this name, or `option` for the values that `options` names."""
        return {
            key: {"value": value, "source": "option" if key in options else f"preset {name}"}
            for key, value in self.values().items()
        }


PRESET_SETTINGS: Final = settings_in(Preset(), "{}.{}".format)
"""Every value of a preset under its name."""

ORIGINAL: Final[dict[str, bool | int | float | str]] = {
    "retrieval.dense_limit": 19,
    "retrieval.lexical_limit": 5,
    "retrieval.lexical": "websearch",
    "retrieval.fusion": "rrf",
    "retrieval.top_k_rrf": 75,
    "retrieval.top_n_final": 15,
    "retrieval.min_word_count": 150,
    "retrieval.min_char_count": 250,
    "reranking.ranker": "cross-encoder",
    "reranking.without_weights": "score-fusion",
    "consolidation.min_content_length": 350,
}
"""The values of the original pipeline that are not the defaults."""


def preset_name(text: str) -> str:
    """A name for a preset, without spaces around it. Raises PresetValueError for an invalid one."""
    name = text.strip()
    if name.lower() == DEFAULT_ALIAS:
        raise PresetValueError(f"No preset can have the name {name!r}: it stands for the preset that is the default.")
    if not _NAME.fullmatch(name):
        raise PresetValueError(
            "A preset cannot have this name; a name has 1 to 100 characters: letters from A to Z, digits, spaces, "
            "'-' and '_'."
        )
    return name


def differing_values(values: Mapping[str, Any]) -> set[str]:
    """The names of the values that are not those of `Balanced`, as ragq comes with it."""
    return {name for name, value in values.items() if value != PRESET_SETTINGS[name].info.default}
