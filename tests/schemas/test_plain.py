"""Values that are read without pydantic, where pydantic reads them."""

import dataclasses
import importlib
import pkgutil

import pytest
from pydantic import ValidationError

from schemas import values
from schemas.values.base import Value
from schemas.values.figures import ModeFigures, SiblingRun
from schemas.values.plain import PlainValue
from schemas.values.scored_runs import ScoredRun

FIGURES = {"mode": "few_shot", "status": "succeeded", "participants": 2, "evaluated": 2} | {
    "item_mae_weighted": 0.5,
    "prediction_coverage": 1.0,
}


class Siblings(Value):
    """A value with a dataclass in it."""

    found: SiblingRun


@pytest.mark.parametrize(
    "changed", [{"unknown": "secret words"}, {"item_mae_weighted": float("nan")}, {"evaluated": "secret words"}]
)
def test_what_a_part_of_a_value_does_not_know_is_refused_without_being_quoted(changed: dict[str, object]) -> None:
    read = Siblings.model_validate({"found": {"run_id": 1, "draw": 0, "modes": [FIGURES]}})
    assert isinstance(read.found.modes[0], ModeFigures)

    with pytest.raises(ValidationError) as refused:
        Siblings.model_validate({"found": {"run_id": 1, "draw": 0, "modes": [FIGURES | changed]}})

    assert "secret" not in str(refused.value)


def test_every_dataclass_in_a_value_is_as_strict() -> None:
    known = _dataclasses()
    named = " ".join(str(field.annotation) for kind in _below(Value) for field in kind.model_fields.values())
    in_values = {kind for kind in known if f"{kind.__module__}.{kind.__name__}" in named}

    assert ScoredRun.model_fields["origin"].annotation in in_values
    assert {kind.__name__ for kind in in_values if not issubclass(kind, PlainValue)} == set()


def _dataclasses() -> set[type]:
    names = [found.name for found in pkgutil.iter_modules(values.__path__)]
    modules = [importlib.import_module(f"schemas.values.{name}") for name in names]
    found = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    return {kind for kind in found if dataclasses.is_dataclass(kind) and kind.__module__.startswith("schemas.values.")}


def _below(kind: type[Value]) -> set[type[Value]]:
    found = set(kind.__subclasses__())
    return found.union(*(_below(one) for one in found))
