"""From a file of phrase sets, one a line, to phrase sets."""

import json
from collections.abc import Iterator
from typing import Any, Final

from schemas.values.interviews import Problem
from schemas.values.tags import PhraseSet
from stages.files.numbered_lines import numbered_lines
from stages.files.problems import Parsed
from stages.texts.plain_ids import is_plain_id
from stages.texts.storable import can_be_stored

MAX_PHRASES: Final = 1000
"""Of a set."""

MAX_CHARS: Final = 800
"""Of a phrase."""

_KEYS: Final = ("id", "phrases", "context_tags")
_UNSTORABLE: Final = "with characters that Postgres cannot store"
_REMOVE: Final = "remove NUL characters and halves of surrogates"


def parse_phrase_sets(data: bytes, *, file: str) -> Parsed[tuple[PhraseSet, ...]]:
    r"""Read a phrase set from each line that is not blank.

    A line is a JSON list of phrases, or a JSON object with `phrases` and perhaps `id` and `context_tags`, or else
    phrases with commas between. A set without an id gets its number, from 1. Problems name the line, and never what is
    written there.

    >>> parse_phrase_sets(b'big shirt, hat\n["red coat"]\n', file="p").value[0].phrases
    ('big shirt', 'hat')
    """
    lines, problems = numbered_lines(data, file=file)
    sets: list[PhraseSet] = []
    line_of: dict[str, int] = {}
    found = list(problems)
    for number, (line, text) in enumerate(lines, start=1):
        row = _row(text)
        wrong = list(_row_problems(row))
        if not wrong:
            one = _phrase_set(row, number)
            first = line_of.setdefault(one.id, line)
            if first == line:
                sets.append(one)
            else:
                wrong.append((f"has the id of line {first}", "give each set an id of its own"))
        found += [Problem(file=file, line=line, found=what, what_to_do=do) for what, do in wrong]
    if not lines and not problems:
        what_to_do = "write phrases with commas between, or a JSON list of them, on one line for each set"
        found.append(Problem(file=file, line=None, found="has no phrases", what_to_do=what_to_do))
    return Parsed(tuple(sets), tuple(found))


def _row(text: str) -> Any:
    """What a line says, as an object; None for a broken one."""
    if not text.lstrip().startswith(("[", "{")):
        return {"phrases": [phrase.strip() for phrase in text.split(",")]}
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return {"phrases": row} if isinstance(row, list) else row


def _phrase_set(row: dict[str, Any], number: int) -> PhraseSet:
    given = row.get("id")
    return PhraseSet(
        id=str(number if given is None else given),
        phrases=tuple(row["phrases"]),
        context_tags=tuple(row.get("context_tags") or ()),
    )


def _row_problems(row: Any) -> Iterator[tuple[str, str]]:
    if row is None:
        yield "begins like JSON and is none", "write a JSON list, an object, or phrases with commas between"
        return
    strange = len(row.keys() - {*_KEYS})
    if strange:
        yield f"has {strange} keys that nothing is done with", f"leave {', '.join(_KEYS)}"
    given = row.get("id")
    if given is not None and (isinstance(given, bool) or not isinstance(given, str | int)):
        yield "has an id that is neither a string nor a whole number", "write it in quotes"
    elif given is not None and not is_plain_id(str(given)):
        what_to_do = "write up to 64 letters, digits, dots, colons, hyphens and underscores: it is shown in logs"
        yield "has an id that looks like text", what_to_do
    if "phrases" not in row:
        yield "has no phrases", "write a list of strings under phrases"
    else:
        yield from _text_problems(row["phrases"], "phrases")
    if row.get("context_tags") is not None:
        yield from _text_problems(row["context_tags"], "context_tags")


def _text_problems(texts: Any, key: str) -> Iterator[tuple[str, str]]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        yield f"has {key} that are no list of strings", f'write ["...", "..."] for {key}'
    elif len(texts) > MAX_PHRASES:
        yield f"has {len(texts)} {key}", f"give at most {MAX_PHRASES}"
    elif any(len(text) > MAX_CHARS for text in texts):
        yield f"has one of its {key} with {max(map(len, texts))} characters", f"shorten it to {MAX_CHARS}"
    elif not all(map(can_be_stored, texts)):
        yield f"has {key} {_UNSTORABLE}", _REMOVE
