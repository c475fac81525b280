"""JSON in its canonical form of RFC 8785, which hashes are computed over.

The package that implements it is written in Python and takes several times as long as the encoder of the standard
library, which writes the same bytes but for very small and very large numbers, and the order of keys beyond the basic
plane.
"""

import json
from typing import Any, Final

import rfc8785

#: From here on, both write numbers differently, or refuse them.
_LARGEST: Final = 2**53
_SMALLEST_FRACTION: Final = 1e-4
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


class _WrittenOtherwise(ValueError):
    """The standard library would not write the value as RFC 8785 does."""


def canonical(value: Any) -> bytes:
    """The canonical form of a JSON value. Raises rfc8785.CanonicalizationError for a value that has none.

    >>> canonical({"b": [1, 2.0, None], "a": "é"}).decode()
    '{"a":"é","b":[1,2,null]}'
    """
    try:
        return _ENCODER.encode(_plain(value)).encode()
    except _WrittenOtherwise:
        return rfc8785.dumps(value)


def _plain(value: Any) -> Any:
    """The value with whole numbers as such, for which both write the same."""
    match value:
        case str() | bool() | None:
            return value
        case int() if -_LARGEST < value < _LARGEST:
            return value
        case float() if value.is_integer() and abs(value) < _LARGEST:
            return int(value)
        case float() if _SMALLEST_FRACTION <= abs(value) < _LARGEST:
            return value
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict() if all(type(key) is str and (key.isascii() or max(key) <= "\uffff") for key in value):
            return {key: _plain(one) for key, one in value.items()}
    raise _WrittenOtherwise
