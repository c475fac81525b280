"""Checks of the names in the environment: those of ai-psychiatrist, and names that are near one that ragq reads."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from schemas.settings.given import Given
from schemas.settings.layers import Layer
from schemas.settings.original_names import ORIGINAL_NAMES, Treatment
from schemas.settings.problems import misspelt_name, unknown_names, without_effect
from schemas.suggestions import has_mistakes

OWN_PREFIXES: Final = ("EMBEDDING_", "PSQ_", "QUANTITATIVE_", "RAGQ_")
"""Prefixes that only ragq uses. MODEL_*, OLLAMA_* and LLM_* may belong to other programs."""

_DISTINCT_LENGTH: Final = 15
"""Length from which a name is so distinct that two mistakes in it, also in its prefix, are recognised."""

_NEAR_NAMES: Final = tuple(
    name
    for name, original in ORIGINAL_NAMES.items()
    if original.treatment is not Treatment.WARNED and not name.startswith(OWN_PREFIXES)
)


class CheckedNames(NamedTuple):
    """The layers as the settings are read from, and what their names led to."""

    layers: list[Layer]
    """Without values that are refused; another name of a setting is replaced by the setting's."""
    problems: list[str]
    warnings: list[str]


def check_names(layers: Sequence[Layer]) -> CheckedNames:
    """Check the names of the original in layers, lowest first: each has its effect, is refused, or is warned about."""
    given = {name: Given(text, layer) for layer in layers for name, text in layer.variables.items() if text}
    of_original = {name: given[name] for name in ORIGINAL_NAMES if name in given}
    refused = {name: found for name, found in of_original.items() if is_refused(name, found.text)}
    problems = [
        f"{name} is {found.text!r} ({found.layer.origin}); allowed is {original.accepted_in_words}: {original.note}."
        for name, found in refused.items()
        for original in (ORIGINAL_NAMES[name],)
    ]
    warnings = [
        without_effect(name, found.layer.origin, ORIGINAL_NAMES[name].note)
        for name, found in of_original.items()
        if ORIGINAL_NAMES[name].treatment is Treatment.WARNED
    ]
    return CheckedNames(
        [layer._replace(variables=_as_settings(layer.variables, refused)) for layer in layers],
        [*problems, *_disagreements(given)],
        warnings,
    )


def misspelt_names(layers: Sequence[Layer], *, known: Collection[str]) -> list[str]:
    """One problem for every name that no setting has and that is ragq's own, or near a name that ragq reads."""
    problems = []
    for layer in layers:
        problems += unknown_names(layer, prefixes=OWN_PREFIXES, known=known)
        problems += [
            misspelt_name(name, layer.origin, near)
            for name in layer.variables
            if (near := near_name(name, known)) is not None
        ]
    return problems


def is_refused(name: str, text: str) -> bool:
    """Whether a name of the original has a value that ragq refuses."""
    original = ORIGINAL_NAMES[name]
    return original.treatment is Treatment.REFUSED and text.lower() not in original.accepted


def near_name(name: str, known: Collection[str]) -> str | None:
    """The name of a setting that this one is a misspelling of, or None.

    Other programs use prefixes such as LOG_ and MODEL_ too, so only a single mistake after the same prefix counts, and
    two in a long name. A name that continues another, such as LOG_LEVEL_FILE, is a name of its own.

    >>> near_name("LLM_BACKND", ()), near_name("LLM_API_KEY", ()), near_name("LOG_LEVEL_FILE", ())
    ('LLM_BACKEND', None, None)
    """
    if name in known or name.startswith(OWN_PREFIXES):
        return None
    for other in _NEAR_NAMES:
        has_its_prefix = name.partition("_")[0] == other.partition("_")[0]
        mistakes = 2 if len(other) >= _DISTINCT_LENGTH else int(has_its_prefix)
        if not name.startswith(other) and has_mistakes(name, other, at_most=mistakes):
            return other
    return None


def _disagreements(given: Mapping[str, Given]) -> Iterator[str]:
    for name, original in ORIGINAL_NAMES.items():
        setting = original.another_name_of
        here, there = given.get(name), given.get(setting or "")
        if here is not None and there is not None and here.text != there.text:
            yield (
                f"{name}={here.text} ({here.layer.origin}) and {setting}={there.text} ({there.layer.origin}) are two "
                f"names of one setting; remove {name}."
            )


def _as_settings(variables: Mapping[str, str], refused: Collection[str]) -> dict[str, str]:
    kept = {name: text for name, text in variables.items() if name not in refused}
    for name, original in ORIGINAL_NAMES.items():
        if original.another_name_of is not None and kept.get(name):
            kept.setdefault(original.another_name_of, kept[name])
    return kept
