"""The values of a run and their sources: default < profile < chosen < file < environment < config < option."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schemas.errors import SettingsError
from schemas.settings.base import (
    BELOW_CHOSEN,
    Layer,
    SettingSource,
    checked,
    given_in,
    layer_of,
    outside_layers,
    sources_of,
    unknown_name,
    without_effect,
)
from schemas.settings.names import ALIASES, LIMITED, OF_COMMANDS, WITHOUT_EFFECT, check_names, misspelt_names
from schemas.settings.process import KNOWN_NAMES, PROCESS_SETTINGS
from schemas.settings.profiles import PROFILES, Changed, changed_settings, choose_profile
from schemas.settings.run import RUN_SETTINGS, RunSettings, run_settings
from schemas.suggestions import did_you_mean

_SCORING_TIMEOUT, _TIMEOUT = "PYDANTIC_AI_TIMEOUT_SECONDS", "OLLAMA_TIMEOUT_SECONDS"


@dataclass(frozen=True, kw_only=True)
class EffectiveSettings:
    """The values of a run and their sources, by environment name."""

    run: RunSettings
    profile: str
    profile_source: str
    """The reason for this profile, in words for the user."""
    sources: dict[str, SettingSource]
    warnings: tuple[str, ...] = ()
    """One for every name in the file or the environment that has no effect, and for values that do not fit together."""

    def with_chosen(self, values: Mapping[str, str]) -> "EffectiveSettings":
        """These settings with stored values, by environment name, where nothing names another value. Raises Refused for
        values that cannot be used."""
        return self.with_values({name: text for name, text in values.items() if self.sources[name] in BELOW_CHOSEN})

    def with_values(self, taken: Mapping[str, str]) -> "EffectiveSettings":
        """These settings with stored values in place of theirs. Raises Refused for values that cannot be used."""
        run, problems = run_settings(Layer("chosen over REST", self.run.values() | dict(taken)))
        if run is None:
            raise SettingsError(problems)
        return replace(self, run=run, sources=self.sources | dict.fromkeys(taken, SettingSource.CHOSEN))

    @property
    def changed(self) -> Changed:
        """The values that differ from the profile, by environment name."""
        return changed_settings(self.profile, self.snapshot())

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """The snapshot that is frozen into the run: `{name: {"value": ..., "source": ...}}`, ready for JSON."""
        return {name: {"value": value, "source": self.sources[name].value} for name, value in self.run.values().items()}


def resolve(
    *,
    profile: str | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
    config: Layer | None = None,
    environment: Mapping[str, str],
    env_file: Path | None = None,
) -> EffectiveSettings:
    """The settings of a new run.

    Layers: default < profile < file < environment < config < option. `options` are the values of --set, and `config`
    those of a configuration file. `env_file` may be absent, and is not read when TESTING is set. An empty text is a
    value like any other, except for RAGQ_PROFILE and connections. Raises Refused with every problem: values out of
    range, unknown names with the nearest known one.
    """
    outside, problems = outside_layers(environment, env_file)
    problems += misspelt_names(outside, known=KNOWN_NAMES, of=KNOWN_NAMES)
    named, of_names, warnings = check_names(outside)
    chosen, why = choose_profile(profile, outside)
    if chosen not in PROFILES:
        there_are = f"there are {', '.join(PROFILES)}.{did_you_mean(chosen, PROFILES)}"
        problems.append(f"Profile {chosen!r} ({why}) does not exist; {there_are}")
    option = layer_of(SettingSource.OPTION, "option --set", options)
    chosen_layers, of_chosen, _ = check_names([option] if config is None else [config, option])
    problems += [*of_names, *of_chosen, *(problem for one in chosen_layers for problem in _not_of_a_run(one))]
    values = PROFILES[chosen].values if chosen in PROFILES else {}
    layers = [Layer(f"profile {chosen}", values, SettingSource.PROFILE), *named, *chosen_layers]
    given = given_in(layers, RUN_SETTINGS)
    if (scoring := given.get(_SCORING_TIMEOUT)) is not None and _TIMEOUT not in given:
        # The original copies the time-out of scoring calls to all others, if theirs is not set.
        seconds = {_TIMEOUT: scoring.variables[_SCORING_TIMEOUT]}
        given[_TIMEOUT] = Layer(f"{_SCORING_TIMEOUT}, {scoring.origin}", seconds, scoring.source)
    run, unusable = checked(RunSettings, given, RUN_SETTINGS)
    if run is None or problems:
        raise SettingsError([*problems, *unusable])
    return EffectiveSettings(
        run=run,
        profile=chosen,
        profile_source=why,
        sources=sources_of(given, RUN_SETTINGS),
        warnings=(*_two_timeouts(run), *warnings),
    )


def _two_timeouts(run: RunSettings) -> list[str]:
    if run.score_timeout_s == run.ollama.timeout_seconds:
        return []
    return [
        f"{_SCORING_TIMEOUT}={run.pydantic_ai.timeout_seconds:g} applies to scoring calls and {_TIMEOUT}="
        f"{run.ollama.timeout_seconds} to all others; set one of them for both."
    ]


def _not_of_a_run(option: Layer) -> Iterator[str]:
    for name in sorted(option.variables.keys() - RUN_SETTINGS.keys() - ALIASES.keys() - LIMITED.keys()):
        if name in WITHOUT_EFFECT:
            yield without_effect(name, option.origin, WITHOUT_EFFECT[name])
        elif name in PROCESS_SETTINGS or name in OF_COMMANDS:
            yield f"{name} ({option.origin}) belongs to the process; set it in the environment."
        else:
            yield unknown_name(name, option.origin, RUN_SETTINGS)
