"""A stage reads the settings that the list of chains declares for it, all of them and no others.

They are found in the source: in every branch, whatever a run of it would take. From the function of a stage, every
function of `workers` and `stages` that it names is read, and the properties of Work and RunSettings. What has settings
is known by the annotations of parameters, and followed through assignments and attributes to the fields.
"""

import ast
import inspect
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from textwrap import dedent
from types import FunctionType, SimpleNamespace
from typing import Any, Final, get_type_hints

import pytest

from schemas.chains import CHAINS, Stage
from schemas.errors import Refused
from schemas.settings.preset import PRESET_SETTINGS, Preset
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import resolve
from schemas.settings.run import RUN_SETTINGS, RunSettings
from store.database import Database
from workers.process import FUNCTIONS
from workers.wiring import Wiring
from workers.work import StageFunction, Work

WIRED: Final = {
    "embedder": frozenset({"EMBEDDING_BACKEND", "MODEL_EMBEDDING_MODEL"}),
    "chat": frozenset({"LLM_BACKEND"}),
}
"""What the methods of Wiring read of the settings that they are given."""

Path = tuple[str, ...]
"""Where a value lies: `("work", "settings", "embedding")`, `("settings", "embedding")`."""

_NAMES: Final[dict[Path, str]] = {
    **{("settings", *setting.place): name for name, setting in RUN_SETTINGS.items()},
    **{("preset", *setting.place): name for name, setting in PRESET_SETTINGS.items()},
}
_TYPES: Final[dict[object, Path]] = {
    **{setting.group: ("settings", setting.place[0]) for setting in RUN_SETTINGS.values()},
    **{setting.group: ("preset", setting.place[0]) for setting in PRESET_SETTINGS.values()},
    **{Work: ("work",), RunSettings: ("settings",), Preset: ("preset",)},
}
_OURS: Final = ("workers.", "stages.", "schemas.settings.")
_OWNERS: Final = {"work": Work, "settings": RunSettings}


def settings_read(function: StageFunction) -> frozenset[str]:
    """The names of the settings that the function of a stage reads."""
    found: set[str] = set()
    seen: set[object] = set()
    unread: list[Any] = [function]
    while unread:
        one = unread.pop()
        if one not in seen:
            seen.add(one)
            named = list(_read(one))
            found |= {name for name in named if isinstance(name, str)}
            unread += [function for function in named if not isinstance(function, str)]
    return frozenset(found)


def _read(function: FunctionType) -> Iterator[str | FunctionType]:
    """The settings that a function reads itself, and the functions that it names."""
    tree = ast.parse(dedent(inspect.getsource(function)))
    known = {name: _TYPES[hint] for name, hint in get_type_hints(function).items() if hint in _TYPES}
    known["self"] = ("work",) if function.__qualname__.startswith("Work.") else ("settings",)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            targets = [one for target in node.targets for one in getattr(target, "elts", [target])]
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Name) and (path := _path(value, known)) is not None:
                    known[target.id] = path
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield from _functions(vars(inspect.getmodule(function)).get(node.id))
        elif isinstance(node, ast.Attribute) and (path := _path(node, known)) is not None:
            match path:
                case ("work", "wiring", method):
                    yield from WIRED.get(method, ())
                case ("work" | "settings" as owner, attribute):
                    member = vars(_OWNERS[owner]).get(attribute)
                    yield from _functions(member.fget if isinstance(member, property) else member)
                case _ if path in _NAMES:
                    yield _NAMES[path]


def _path(node: ast.expr, known: dict[str, Path]) -> Path | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute) or (base := _path(node.value, known)) is None:
        return None
    return (node.attr,) if base == ("work",) and node.attr in ("settings", "preset") else (*base, node.attr)


def _functions(found: Any) -> Iterator[FunctionType]:
    """What a name stands for: a function, or a dictionary of functions."""
    for one in found.values() if isinstance(found, dict) else [found]:
        function = one.func if isinstance(one, partial) else one
        if inspect.isfunction(function) and function.__module__.startswith(_OURS):
            yield function


EVERY_STAGE = [(*chain, stage) for chain, stages in CHAINS.items() for stage in stages]

THROUGH_INPUTS = {("query", "expand"): {"expansion.enabled", "RAGQ_EXPANDER"}}
"""Settings that a submission reads for a stage, and stores in the inputs of its jobs."""


@pytest.mark.parametrize(("kind", "mode", "stage"), EVERY_STAGE)
def test_a_stage_declares_what_its_code_reads(kind: str, mode: str, stage: Stage) -> None:
    read = settings_read(FUNCTIONS[kind, mode, stage.name])

    assert read | THROUGH_INPUTS.get((kind, stage.name), set()) == stage.reads


def test_the_wiring_reads_what_is_taken_for_read() -> None:
    nowhere = Database("postgresql://127.0.0.1:1/none")
    wiring = Wiring(ProcessSettings(), nowhere, ollama_url="http://127.0.0.1:1", is_crowded=lambda: False)
    settings = resolve(profile="paper", options={"EMBEDDING_BACKEND": "ollama"}, environment={}).run.values()
    for method, missing in [(of, name) for of in WIRED for name in ("", *sorted(WIRED[of]))]:
        given: Any = SimpleNamespace()
        for group, field, name in ((*RUN_SETTINGS[name].place, name) for name in WIRED[method] - {missing}):
            vars(given).setdefault(group, SimpleNamespace())
            setattr(getattr(given, group), field, settings[name])

        with pytest.raises(AttributeError) if missing else suppress(Refused):
            getattr(wiring, method)(given)
