"""Fields of text that Postgres can store."""

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from stages.texts.storable import can_be_stored


def _checked(text: str) -> str:
    if not can_be_stored(text):
        raise PydanticCustomError("cannot_be_stored", "Text has a NUL character or half of a surrogate pair")
    return text


Storable = AfterValidator(_checked)
"""Has pydantic refuse text of which `can_be_stored` is not true."""
