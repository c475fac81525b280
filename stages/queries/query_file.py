"""From a file of queries, one JSON object a line, to queries."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from schemas.values.interviews import Problem
from schemas.values.query_sets import SubmittedQuery
from stages.files.numbered_lines import numbered_lines
from stages.files.problems import Parsed
from stages.texts.storable import can_be_stored

MAX_CHARS: Final = 2000
"""Of the text of a query."""

_ID_KEYS: Final = ("_id", "id")
_TEXT_KEYS: Final = ("text", "query")


class QueryFile(NamedTuple):
    """What stands in a query file."""

    queries: tuple[SubmittedQuery, ...]
    left_out_keys: tuple[str, ...]
    """Keys of any line that nothing is done with, by name."""


def parse_queries(data: bytes, *, file: str) -> Parsed[QueryFile]:
    r"""Read the queries of a JSONL file: an id under `_id` or `id`, the text under `text` or `query`.

    A number as id stands for its digits. Blank lines are passed over, and so are other keys, which are named. Problems
    name the line, and never what is written there.

    >>> parse_queries(b'{"_id": "7", "text": "Why is the sky blue?"}\n', file="q.jsonl").value.queries[0].external_id
    '7'
    """
    lines, problems = numbered_lines(data, file=file)
    reader = _Reader(file, list(problems))
    queries = tuple(query for line, text in lines if (query := reader.query(line, text)) is not None)
    if not queries and not reader.problems:
        reader.report(None, "has no query", 'write one JSON object a line: {"_id": "...", "text": "..."}')
    return Parsed(QueryFile(queries, tuple(sorted(reader.left_out_keys))), tuple(reader.problems))


class _Reader:
    """Reads line after line and remembers where each id stood. What is wrong gathers in `problems`."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self._file = file
        self._line_of: dict[str, int] = {}
        self.problems = problems
        self.left_out_keys: set[str] = set()

    def report(self, line: int | None, found: str, what_to_do: str) -> None:
        self.problems.append(Problem(file=self._file, line=line, found=found, what_to_do=what_to_do))

    def query(self, line: int, text: str) -> SubmittedQuery | None:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            self.report(line, "is no JSON", 'write {"_id": "...", "text": "..."} on one line')
            return None
        if not isinstance(row, dict):
            self.report(line, "is no JSON object", 'write {"_id": "...", "text": "..."} on one line')
            return None
        self.left_out_keys |= row.keys() - {*_ID_KEYS, *_TEXT_KEYS}
        wrong = [*_id_problems(row), *_text_problems(row)]
        for found, what_to_do in wrong:
            self.report(line, found, what_to_do)
        if wrong:
            return None
        external_id = str(_values(row, _ID_KEYS)[0]).strip()
        first = self._line_of.setdefault(external_id, line)
        if first != line:
            self.report(line, f"has the id of line {first}", "give each query an id of its own")
            return None
        return SubmittedQuery(external_id=external_id, text=_values(row, _TEXT_KEYS)[0].strip())


def _values(row: Mapping[str, Any], keys: tuple[str, ...]) -> list[Any]:
    return [row[key] for key in keys if key in row]


def _id_problems(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    found = _values(row, _ID_KEYS)
    if len(found) != 1:
        yield ("has _id and id", "keep one of them") if found else ("has no id", "write one under _id or id")
    elif not isinstance(found[0], str | int) or isinstance(found[0], bool):
        yield "has an id that is neither a string nor a whole number", "write it in quotes"
    elif not str(found[0]).strip():
        yield "has a blank id", "give it an id"
    elif not can_be_stored(str(found[0])):
        yield "has an id with characters that Postgres cannot store", "remove NUL characters and halves of surrogates"


def _text_problems(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    found = _values(row, _TEXT_KEYS)
    if len(found) != 1:
        yield (
            ("has no text", "write it under text or query") if not found else ("has text and query", "keep one of them")
        )
    elif not isinstance(found[0], str):
        yield "has a text that is no string", "write it in quotes"
    elif not found[0].strip():
        yield "has a blank text", "write the query, or leave the line out"
    elif len(found[0].strip()) > MAX_CHARS:
        yield f"has a text of {len(found[0].strip())} characters", f"shorten it to {MAX_CHARS}"
    elif not can_be_stored(found[0]):
        yield "has a text with characters that Postgres cannot store", "remove NUL characters and halves of surrogates"
