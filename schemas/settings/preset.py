"""Presets: the settings of expansion, search, ranking, validation and prompts of queries."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from schemas.errors import PresetValueError
from schemas.settings.preset_groups import (
    PRESET_GROUPS,
    PRESET_SETTINGS,
    AugmentationPreset,
    ConsolidationPreset,
    ExpansionPreset,
    RerankingPreset,
    RetrievalPreset,
    ValidationPreset,
)
from schemas.settings.preset_names import is_preset_name
from schemas.settings.problems import checked, disagreement

DEFAULT_ALIAS: Final = "default"
"""Stands for the preset that is the default, wherever a preset is named."""

_NAME = re.compile(r"[A-Za-z0-9 _-]{1,100}")


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
    def _fusion_keeps_enough_to_choose_from(self) -> Self:
        kept, selected = self.retrieval.top_k_rrf, self.retrieval.top_n_final
        if kept < selected:
            raise disagreement(
                f"retrieval.top_k_rrf={kept} is less than retrieval.top_n_final={selected}, so fusion would keep fewer "
                "chunks than are to be selected; raise the first or lower the second",
                "retrieval.top_k_rrf",
                "retrieval.top_n_final",
            )
        return self

    @model_validator(mode="after")
    def _something_is_searched(self) -> Self:
        if not self.retrieval.dense_limit and not self.retrieval.lexical_limit:
            raise disagreement(
                "retrieval.dense_limit and retrieval.lexical_limit are both 0, so nothing would be searched; raise one",
                "retrieval.dense_limit",
                "retrieval.lexical_limit",
            )
        return self

    def values(self) -> dict[str, bool | int | float | str]:
        """Every value under its name, in the order of PRESET_SETTINGS."""
        return {f"{group}.{key}": value for group, keys in self.model_dump().items() for key, value in keys.items()}

    def changed(self, values: Mapping[str, Any], *, origin: str) -> "Preset":
        """This preset with changed values, which may be texts. See `preset_of`."""
        return preset_of(values, origin=origin, base=self)

    def snapshot(self, name: str, *, options: Collection[str] = ()) -> dict[str, dict[str, Any]]:
        """The snapshot that is frozen into a run, in the form of EffectiveSettings.snapshot(). The source is the preset
        of this name, or `option` for the values that `options` names."""
        return {
            key: {"value": value, "source": "option" if key in options else f"preset {name}"}
            for key, value in self.values().items()
        }

    @classmethod
    def from_snapshot(cls, snapshot: Mapping[str, Mapping[str, Any]]) -> "Preset":
        """The preset in a run's snapshot, whose other settings are ignored. See RunSettings.from_snapshot."""
        stored = {name: entry["value"] for name, entry in snapshot.items() if is_preset_name(name)}
        return preset_of(stored, origin="stored with the run")


ORIGINAL: Final[dict[str, bool | int | float | str]] = {
    "retrieval.dense_limit": 19,
    "retrieval.lexical_limit": 5,
    "retrieval.lexical": "websearch",
    "retrieval.fusion": "rrf",
    "retrieval.rrf_k": 50,
    "retrieval.top_k_rrf": 75,
    "retrieval.top_n_final": 15,
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


def preset_of(values: Mapping[str, Any], *, origin: str, base: Preset | None = None) -> Preset:
    """The preset with these values under their names; absent ones are those of `base`, or the defaults.

    Raises PresetValueError with every problem: unknown names with the nearest known one, values out of range, values
    that conflict. `origin` is the source of the values.
    """
    unknown = [_unknown(name, origin) for name in values if name not in PRESET_SETTINGS]
    groups: dict[str, dict[str, Any]] = {name: {} for name in PRESET_GROUPS}
    for name, value in {**(base.values() if base else {}), **values}.items():
        if name in PRESET_SETTINGS:
            groups[name.partition(".")[0]][PRESET_SETTINGS[name].field] = value
    preset, problems = checked(
        Preset,
        groups,
        settings={tuple(name.split(".")): setting for name, setting in PRESET_SETTINGS.items()},
        origins={name: origin if name in values else "preset" if base else "default" for name in PRESET_SETTINGS},
    )
    if preset is None or unknown:
        raise _refused([*unknown, *problems])
    return preset


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


def _unknown(name: str, origin: str) -> str:
    nearest = get_close_matches(name.lower(), list(PRESET_SETTINGS), n=1)
    advice = f"did you mean {nearest[0]}?" if nearest else "remove it."
    return f"{name} ({origin}) is not a value of a preset; {advice}"


def _refused(problems: list[str]) -> PresetValueError:
    heading = (
        "1 value of the preset cannot be used:"
        if len(problems) == 1
        else (f"{len(problems)} values of the preset cannot be used:")
    )
    advice = "`ragq preset show` lists every value and what it accepts."
    message = "\n".join([heading, *(f"- {problem}" for problem in problems), advice])
    return PresetValueError(message, problems=problems)


def differing_values(values: Mapping[str, Any]) -> set[str]:
    """The names of the values that are not those of `Balanced`, as ragq comes with it."""
    return {name for name, value in values.items() if value != PRESET_SETTINGS[name].default}
