"""The values of a run and their sources: default < profile < file < environment < option."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schemas.settings.layers import (
    Layer,
    SettingSource,
    given_in,
    option_layer,
    outside_layers,
    profile_layer,
    unknown_names,
)
from schemas.settings.problems import refused, unknown_name
from schemas.settings.process import KNOWN_NAMES, PROCESS_SETTINGS
from schemas.settings.profiles import PROFILES, choose_profile
from schemas.settings.run import RUN_GROUPS, RUN_SETTINGS, RunSettings, run_settings

_OWN_PREFIXES = ("EMBEDDING_", "PSQ_", "QUANTITATIVE_", "RAGQ_")
"""Prefixes that only ragq uses. MODEL_*, OLLAMA_* and LLM_* may belong to other programs."""


@dataclass(frozen=True, kw_only=True)
class EffectiveSettings:
    """The values of a run and their sources, by environment name."""

    run: RunSettings
    profile: str
    profile_source: str
    """The reason for this profile, in words for the user."""
    sources: dict[str, SettingSource]

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """The snapshot that is frozen into the run: `{name: {"value": ..., "source": ...}}`, ready for JSON."""
        return {name: {"value": value, "source": self.sources[name].value} for name, value in self.run.values().items()}


def resolve(
    *,
    profile: str | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
    environment: Mapping[str, str],
    env_file: Path | None = None,
) -> EffectiveSettings:
    """The settings of a new run.

    Layers: default < profile < file < environment < option. `options` are the values of --set. `env_file` may be
    absent, and is not read when TESTING is set. An empty text is a value like any other, except for RAGQ_PROFILE and
    connections. Raises Refused with every problem: values out of range, unknown names with the nearest known one.
    """
    outside, problems = outside_layers(environment, env_file)
    for layer in outside:
        problems += unknown_names(layer, prefixes=_OWN_PREFIXES, known=KNOWN_NAMES)
    chosen = choose_profile(profile, outside)
    if chosen.profile not in PROFILES:
        problems.append(f"Profile {chosen.profile!r} ({chosen.why}) does not exist; there are {', '.join(PROFILES)}.")
    option = option_layer(options)
    problems += _not_of_a_run(option)
    layers = [profile_layer(chosen.profile, PROFILES.get(chosen.profile, {})), *outside, option]
    given = {name: found for group in RUN_GROUPS.values() for name, found in given_in(layers, group).items()}
    run, unusable = run_settings(
        {name: found.text for name, found in given.items()},
        origins={name: given[name].layer.origin if name in given else "default" for name in RUN_SETTINGS},
    )
    if run is None or problems:
        raise refused([*problems, *unusable])
    return EffectiveSettings(
        run=run,
        profile=chosen.profile,
        profile_source=chosen.why,
        sources={name: given[name].layer.source if name in given else SettingSource.DEFAULT for name in RUN_SETTINGS},
    )


def _not_of_a_run(option: Layer) -> list[str]:
    problems = []
    for name in option.variables.keys() - RUN_SETTINGS.keys():
        if name in PROCESS_SETTINGS:
            problems.append(f"{name} ({option.origin}) belongs to the process; set it in the environment.")
        else:
            problems.append(unknown_name(name, option.origin, RUN_SETTINGS))
    return sorted(problems)
