"""Replies in Python instead of JSON: single quotes, True, None."""

import ast
import json
import re
from typing import Any

_TOKEN = re.compile(
    r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\b(?:true|false|null)\b""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PYTHON_SPELLING = {"true": "True", "false": "False", "null": "None"}
_PYTHON_ESCAPES = frozenset("\\'\"abfnrtvxuUN\n")


def python_literal_object(text: str) -> dict[str, Any] | None:
    """The object in `text`, parsed as a Python literal; None if it is not a literal or has no equivalent in JSON.

    JSON's true, false and null are accepted outside strings.

    >>> python_literal_object("{'slept': true, 'hours': (3, 4)}")
    {'slept': True, 'hours': [3, 4]}
    """
    try:
        literal = ast.literal_eval(_TOKEN.sub(_as_python, text))
        value = json.loads(json.dumps(literal, allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_python(token: re.Match[str]) -> str:
    return _PYTHON_SPELLING.get(token[0]) or _ESCAPE.sub(_known_escape, token[0])


def _known_escape(escape: re.Match[str]) -> str:
    """Python warns of unknown escapes and keeps their backslash; this keeps it without the warning."""
    if escape[1] == "/":
        return "/"
    return escape[0] if escape[1] in _PYTHON_ESCAPES else "\\" + escape[0]
