"""TOML to write; tomllib reads it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def toml_comment(words: str) -> str:
    """A comment of one line, whatever the words hold.

    >>> toml_comment("preset 'a\\nb'")
    "# preset 'a�b'"
    """
    return f"# {''.join(char if char.isprintable() else '�' for char in words)}"


def toml_line(name: str, value: Any) -> str:
    """A key with its value: a text, a number, a truth value, or a list of them.

    >>> toml_line("limit", 3), toml_line("retrieval.fusion", 'a "b"'), toml_line("participants", [316, 319])
    ('limit = 3', 'retrieval.fusion = "a \\\\"b\\\\""', 'participants = [316, 319]')
    """
    return f"{name} = {_value(value)}"


def toml_tables(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines of a table for each row; empty lists in it are left out."""
    return [
        line
        for row in rows
        for line in (f"[[{name}]]", *(toml_line(key, value) for key, value in row.items() if value != []), "")
    ]


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # JSON and TOML escape texts alike, except for DEL, which JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
