"""Replies in Python instead of JSON: single quotes, True, None."""

import ast
import json
import re
from collections import Counter
from typing import Any

from stages.replies.reply_object import RepeatedNameError, reply_object

_TOKEN = re.compile(
    r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|\b(?:true|false|null)\b""",
    re.DOTALL,
)
"""An escape outside strings is a token too, so that an unclosed string is searched for its end once."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PYTHON_SPELLING = {"true": "True", "false": "False", "null": "None"}
_PYTHON_ESCAPES = frozenset("\\'\"abfnrtvxuUN\n")


def python_literal_object(text: str) -> dict[str, Any] | None:
    """The object in `text`, parsed as a Python literal; None if it is not a literal or has no equivalent in JSON.

    JSON's true, false and null are accepted outside strings. Raises RepeatedNameError for a name that is given twice.

    >>> python_literal_object("{'slept': true, 'hours': (3, 4)}")
    {'slept': True, 'hours': [3, 4]}
    """
    try:
        tree = ast.parse(_TOKEN.sub(_as_python, text).lstrip(" \t"), mode="eval")
        literal = ast.literal_eval(tree)
        _refuse_repeated_names(tree)
        return reply_object(json.dumps(literal, allow_nan=False)).value
    except RepeatedNameError:
        raise
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _refuse_repeated_names(tree: ast.AST) -> None:
    """Python keeps the last of several equal keys."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = Counter(key.value for key in node.keys if isinstance(key, ast.Constant))
            if any(count > 1 for count in names.values()):
                raise RepeatedNameError


def _as_python(token: re.Match[str]) -> str:
    return _PYTHON_SPELLING.get(token[0]) or _ESCAPE.sub(_known_escape, token[0])


def _known_escape(escape: re.Match[str]) -> str:
    """Python warns of unknown escapes and keeps their backslash; this keeps it without the warning."""
    if escape[1] == "/":
        return "/"
    return escape[0] if escape[1] in _PYTHON_ESCAPES else "\\" + escape[0]
