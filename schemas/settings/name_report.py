"""What ragq does with each name of a file or of the environment."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from schemas.errors import SettingsError
from schemas.settings.layers import outside_layers
from schemas.settings.names import ORIGINAL_NAMES, OWN_PREFIXES, Treatment, near_name
from schemas.settings.process import KNOWN_NAMES, PROCESS_SETTINGS, effective_process
from schemas.settings.resolve import resolve

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
