"""A stage reads the settings that the list of chains declares for it, all of them and no others.

They are found in the source: in every branch, whatever a run of it would take. A small interpreter of the files of
chains follows `work.settings` and `work.preset` through assignments, attributes, the properties of RunSettings and
Work, and calls of functions of these files and of `stages`, to the fields that are read.
"""

import ast
import inspect
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NamedTuple, get_type_hints

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

_EMBEDDER: Final = frozenset({"EMBEDDING_BACKEND", "MODEL_EMBEDDING_MODEL"})
WIRED: Final = {
    "embedder": _EMBEDDER,
    "chat": frozenset({"LLM_BACKEND"}),
}
"""What the methods of Wiring read of the settings that they are given."""

_RUN_NAMES: Final = {setting.place: name for name, setting in RUN_SETTINGS.items()}
_PRESET_NAMES: Final = {setting.place: name for name, setting in PRESET_SETTINGS.items()}
_GROUP_TYPES: Final = {setting.group: ("settings", setting.place[0]) for setting in RUN_SETTINGS.values()}

Path = tuple[str, ...]
"""Where a value lies: `("work",)`, `("settings", "embedding")`, `("preset", "retrieval")`."""


class _Function(NamedTuple):
    module: ModuleType
    tree: ast.FunctionDef | ast.AsyncFunctionDef


def settings_read(function: StageFunction) -> frozenset[str]:
    """The names of the settings that the function of a stage reads."""
    return frozenset(_read(_function(function), {"work": ("work",)}, set()))


def _function(found: Any) -> _Function:
    owner = inspect.getmodule(found)
    assert owner is not None
    tree = ast.parse(inspect.getsource(found)).body[0]
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    return _Function(owner, tree)


def _read(function: _Function, paths: dict[str, Path], seen: set[str]) -> Iterator[str]:
    known = dict(paths)
    for node in ast.walk(function.tree):
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for target in node.targets:
                targets = target.elts if isinstance(target, ast.Tuple) else [target]
                for name, value in zip(targets, values, strict=False):
                    if isinstance(name, ast.Name) and (path := _path(value, known)) is not None:
                        known[name.id] = path
    for node in ast.walk(function.tree):
        if isinstance(node, ast.Attribute) and (path := _path(node, known)) is not None:
            yield from _of_path(path)
        if isinstance(node, ast.Call):
            is_partial = isinstance(node.func, ast.Name) and node.func.id == "partial"
            call = ast.Call(node.args[0], node.args[1:], node.keywords) if is_partial else node
            for called in _called(function.module, call.func):
                yield from _of_call(called, call, known, seen)


def _path(node: ast.expr, known: dict[str, Path]) -> Path | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute) or (base := _path(node.value, known)) is None:
        return None
    if base == ("work",):
        return (node.attr,) if node.attr in ("settings", "preset") else ("work", node.attr)
    return (*base, node.attr)


def _of_path(path: Path) -> Iterator[str]:
    match path:
        case ("work", attribute):
            yield from _of_work(attribute)
        case ("settings", group, field) if group in RunSettings.model_fields:
            yield _RUN_NAMES[group, field]
        case ("settings", attribute) if isinstance(of := vars(RunSettings).get(attribute), property):
            found = of.fget
            assert found is not None
            tree = ast.parse(dedent(inspect.getsource(found)))
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and (inner := _path(node, {"self": ("settings",)})) is not None:
                    yield from _of_path(inner)
        case ("preset", group, field) if group in Preset.model_fields:
            yield _PRESET_NAMES[group, field]


def _of_work(attribute: str) -> Iterator[str]:
    found = vars(Work).get(attribute)
    function = found.fget if isinstance(found, property) else found
    if not inspect.isfunction(function):
        return
    tree = ast.parse(dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "wiring":
            yield from WIRED.get(node.attr, ())
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield from _of_work(node.attr) if node.attr != attribute else ()


def _called(module: ModuleType, function: ast.expr) -> list[Any]:
    """What a call by name calls, or by a place in a dictionary of functions: then each of them."""
    match function:
        case ast.Name(id=name):
            return [getattr(module, name, None)]
        case ast.Subscript(value=ast.Name(id=name)):
            found = getattr(module, name, None)
            values = found.values() if isinstance(found, dict) else ()
            return [one.func if isinstance(one, partial) else one for one in values]
    return []


def _of_call(found: Any, call: ast.Call, known: dict[str, Path], seen: set[str]) -> Iterator[str]:
    owner = inspect.getmodule(found)
    if not inspect.isfunction(found) or owner is None:
        return
    if not owner.__name__.startswith(("workers.", "stages.")):
        return
    called = _function(found)
    given = dict(zip((argument.arg for argument in called.tree.args.args), call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
    paths = {name: path for name, value in given.items() if (path := _path(value, known)) is not None}
    for name, hint in get_type_hints(found).items():
        if hint in _GROUP_TYPES:
            paths.setdefault(name, _GROUP_TYPES[hint])
    key = f"{owner.__name__}.{found.__name__} {sorted(paths.items())}"
    if key not in seen:
        seen.add(key)
        yield from _read(called, paths, seen)


EVERY_STAGE = [(*chain, stage) for chain, stages in CHAINS.items() for stage in stages]

THROUGH_INPUTS = {("query", "expand"): {"expansion.enabled", "RAGQ_EXPANDER"}}
"""Settings that a submission reads for a stage, and stores in the inputs of its jobs."""


@pytest.mark.parametrize(("kind", "mode", "stage"), EVERY_STAGE)
def test_a_stage_declares_what_its_code_reads(kind: str, mode: str, stage: Stage) -> None:
    read = settings_read(FUNCTIONS[kind, mode, stage.name])

    assert read | THROUGH_INPUTS.get((kind, stage.name), set()) == stage.reads


def test_the_wiring_reads_what_the_interpreter_takes_it_to_read() -> None:
    nowhere = Database("postgresql://127.0.0.1:1/none")
    wiring = Wiring(
        ProcessSettings(), nowhere, ollama_url="http://127.0.0.1:1", is_crowded=lambda: False, is_awaited=lambda: False
    )
    settings = resolve(profile="paper", options={"EMBEDDING_BACKEND": "ollama"}, environment={}).run.values()
    for method, missing in [(of, name) for of in WIRED for name in ("", *sorted(WIRED[of]))]:
        given: Any = SimpleNamespace()
        for group, field, name in ((*RUN_SETTINGS[name].place, name) for name in WIRED[method] - {missing}):
            vars(given).setdefault(group, SimpleNamespace())
            setattr(getattr(given, group), field, settings[name])

        with pytest.raises(AttributeError) if missing else suppress(Refused):
            getattr(wiring, method)(given)
