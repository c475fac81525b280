"""The values of a run and their sources, and a report of every name that could give one.

Default < profile < chosen < file < environment < config < option.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from schemas.errors import SettingsError
from schemas.settings.base import (
    BELOW_CHOSEN,
    Given,
    Layer,
    SettingSource,
    given_in,
    option_layer,
    outside_layers,
    unknown_name,
    without_effect,
)
from schemas.settings.names import ORIGINAL_NAMES, OWN_PREFIXES, Treatment, check_names, misspelt_names, near_name
from schemas.settings.process import KNOWN_NAMES, PROCESS_SETTINGS, effective_process
from schemas.settings.profiles import PROFILES, ChangedSetting, changed_settings, choose_profile
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
        """These settings with stored values, by environment name, where nothing names another value.

        Raises Refused for values that cannot be used.
        """
        return self.with_values({name: text for name, text in values.items() if self.sources[name] in BELOW_CHOSEN})

    def with_values(self, taken: Mapping[str, str]) -> "EffectiveSettings":
        """These settings with stored values in place of theirs. Raises Refused for values that cannot be used."""
        run, problems = run_settings(
            self.run.values() | dict(taken), origins=dict.fromkeys(RUN_SETTINGS, "chosen over REST")
        )
        if run is None:
            raise SettingsError(problems)
        return replace(self, run=run, sources=self.sources | dict.fromkeys(taken, SettingSource.CHOSEN))

    @property
    def changed(self) -> dict[str, ChangedSetting]:
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
    problems += misspelt_names(outside, known=KNOWN_NAMES)
    named = check_names(outside)
    chosen = choose_profile(profile, outside)
    if chosen.profile not in PROFILES:
        suggestion = did_you_mean(chosen.profile, PROFILES)
        there_are = f"there are {', '.join(PROFILES)}"
        problems.append(f"Profile {chosen.profile!r} ({chosen.why}) does not exist; {there_are}.{suggestion}")
    chosen_layers, of_chosen, _ = check_names([*([] if config is None else [config]), option_layer(options)])
    problems += [*named.problems, *of_chosen, *(problem for one in chosen_layers for problem in _not_of_a_run(one))]
    values = PROFILES[chosen.profile].values if chosen.profile in PROFILES else {}
    layers = [Layer(SettingSource.PROFILE, f"profile {chosen.profile}", values), *named.layers, *chosen_layers]
    given = _with_one_timeout_for_both(given_in(layers, RUN_SETTINGS))
    run, unusable = run_settings(
        {name: found.text for name, found in given.items()},
        origins={name: given[name].layer.origin if name in given else "default" for name in RUN_SETTINGS},
    )
    if run is None or problems:
        raise SettingsError([*problems, *unusable])
    return EffectiveSettings(
        run=run,
        profile=chosen.profile,
        profile_source=chosen.why,
        sources={name: given[name].layer.source if name in given else SettingSource.DEFAULT for name in RUN_SETTINGS},
        warnings=(*_two_timeouts(run), *named.warnings),
    )


def _with_one_timeout_for_both(given: dict[str, Given]) -> dict[str, Given]:
    """The original copies the time-out of scoring calls to all others, if theirs is not set."""
    scoring = given.get(_SCORING_TIMEOUT)
    if scoring is None or _TIMEOUT in given:
        return given
    origin = f"{_SCORING_TIMEOUT}, {scoring.layer.origin}"
    return given | {_TIMEOUT: Given(scoring.text, scoring.layer._replace(origin=origin))}


def _two_timeouts(run: RunSettings) -> list[str]:
    if run.score_timeout_s == run.ollama.timeout_seconds:
        return []
    return [
        f"{_SCORING_TIMEOUT}={run.pydantic_ai.timeout_seconds:g} applies to scoring calls and {_TIMEOUT}="
        f"{run.ollama.timeout_seconds} to all others; set one of them for both."
    ]


def _not_of_a_run(option: Layer) -> list[str]:
    problems = []
    for name in option.variables.keys() - RUN_SETTINGS.keys():
        if name in PROCESS_SETTINGS:
            problems.append(f"{name} ({option.origin}) belongs to the process; set it in the environment.")
        elif name in ORIGINAL_NAMES:
            problems += _not_an_option(name, option)
        else:
            problems.append(unknown_name(name, option.origin, RUN_SETTINGS))
    return sorted(problems)


def _not_an_option(name: str, option: Layer) -> list[str]:
    original = ORIGINAL_NAMES[name]
    if original.accepted or original.another_name_of:
        return []
    if original.treatment is Treatment.WARNED:
        return [without_effect(name, option.origin, original.note)]
    return [f"{name} ({option.origin}) belongs to the environment: {original.note}."]


_OTHER: Final = "not read"


class NameReport(NamedTuple):
    """A name, without its value."""

    name: str
    origin: str
    treatment: str
    """`honoured`, `refused`, `warned about` or `not read`."""
    note: str


class NamesReport(NamedTuple):
    """Every name, and what else a submission would refuse."""

    names: list[NameReport]
    problems: list[str]
    """Those of no single name: an unreadable line, an unknown profile."""

    @property
    def is_usable(self) -> bool:
        """Whether a submission would accept the names and values."""
        return not self.problems and all(report.treatment != Treatment.REFUSED for report in self.names)


def report_names(environment: Mapping[str, str], env_file: Path | None) -> NamesReport:
    """The names of the .env file and of the environment, in their order; the value of none is in the report.

    Of the environment, names that ragq neither reads nor takes for a misspelling are left out.
    """
    layers, _ = outside_layers(environment, env_file)
    found = _problems(environment, env_file)
    origins = {name: layer.origin for layer in layers for name in layer.variables}
    reports = [
        _report(name, origin, found)
        for name, origin in origins.items()
        if origin != layers[-1].origin or name in KNOWN_NAMES or _is_misspelt(name)
    ]
    by_name = [problem for name in origins for problem in _of(name, found)]
    return NamesReport(reports, [problem for problem in found if problem not in by_name])


def _problems(environment: Mapping[str, str], env_file: Path | None) -> list[str]:
    found: list[str] = []
    for check in (
        lambda: resolve(environment=environment, env_file=env_file),
        lambda: effective_process(environment, env_file),
    ):
        try:
            check()
        except SettingsError as error:
            found += [problem for problem in error.problems if problem not in found]
    return found


def _report(name: str, origin: str, problems: Sequence[str]) -> NameReport:
    if own := list(_of(name, problems)):
        return NameReport(name, origin, Treatment.REFUSED, " ".join(own))
    if name in ORIGINAL_NAMES:
        original = ORIGINAL_NAMES[name]
        treatment = Treatment.HONOURED if original.accepted else original.treatment
        return NameReport(name, origin, treatment, original.note)
    if name in KNOWN_NAMES:
        of = "of the process" if name in PROCESS_SETTINGS else "of a run"
        return NameReport(name, origin, Treatment.HONOURED, f"a setting {of}")
    return NameReport(name, origin, _OTHER, "no name of ragq")


def _of(name: str, problems: Sequence[str]) -> Iterator[str]:
    return (problem for problem in problems if problem.startswith((f"{name} ", f"{name}=")))


def _is_misspelt(name: str) -> bool:
    return name.startswith(OWN_PREFIXES) or near_name(name, KNOWN_NAMES) is not None
