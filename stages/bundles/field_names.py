"""The names of the fields of a value and of all values in it."""

from collections.abc import Iterator
from typing import Any, get_args

from schemas.values.base import Value


def field_names(value: type[Value]) -> frozenset[str]:
    """Every name of a field, at any depth.

    >>> from schemas.values.participants import ValidatedReferences
    >>> sorted(field_names(ValidatedReferences))[:4]
    ['chunk_chars', 'chunk_hash', 'chunk_id', 'decision']
    """
    return frozenset(name for one in values_in(value) for name in one.model_fields)


def values_in(value: type[Value]) -> frozenset[type[Value]]:
    """The value, and all values that its fields hold, at any depth."""
    found: set[type[Value]] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [inner for field in one.model_fields.values() for inner in _values(field.annotation)]
    return frozenset(found)


def _values(annotation: Any) -> Iterator[type[Value]]:
    if isinstance(annotation, type) and issubclass(annotation, Value):
        yield annotation
    for inner in get_args(annotation):
        yield from _values(inner)
