"""Every field of an output that is declared private is withheld, whatever its chain."""

from typing import Any

import pytest

from schemas.chains import CHAINS
from schemas.values.base import Value
from stages.bundles.field_names import values_in
from stages.bundles.marks import WITHHELD
from stages.bundles.withheld import without_text

PRIVATE = sorted(
    {
        (value.__name__, name)
        for chain in CHAINS.values()
        for stage in chain
        for value in values_in(stage.output)
        for name, field in value.model_fields.items()
        if field.repr is False
    }
)


@pytest.mark.parametrize(("value", "name"), PRIVATE)
def test_a_private_field_is_withheld(value: str, name: str) -> None:
    texts: list[Any] = ["MARKED", ["MARKED"], {"Sleep": ["MARKED"]}, [{"role": "user", "content": "MARKED"}]]
    for text in texts:
        assert "MARKED" not in str(without_text({name: text})), (value, name)


def test_there_are_private_fields_of_every_chain() -> None:
    assert {"quotes", "content", "prompt", "phrase", "evidence", "title"} <= {name for _, name in PRIVATE}


def test_a_field_that_nobody_declared_is_withheld() -> None:
    class New(Value):
        remark: str

    assert without_text(New(remark="MARKED").model_dump()) == {"[withheld 1]": WITHHELD}
