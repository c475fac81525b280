"""Parsers of model replies: `parse_strict` repairs nothing, `parse_reply` records each repair."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeVar

from schemas.errors import LLMResponseParseError
from stages.texts.characters import without_zero_width

_TWICE: Final = "a name occurs twice in one object"
_FENCED_BLOCK: Final = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"```(?:json)?", re.IGNORECASE)
_OPENING_FENCES: Final = re.compile(r"(?:```(?:json)?\s*)+", re.IGNORECASE)


class RepairStep(StrEnum):
    """A repair that a reply needed, under its name in telemetry."""

    FIXUPS = "json_fixups_applied"
    """Zero-width characters were removed, or the corrections of `tolerant_fixups` changed the text."""
    PYTHON_LITERAL = "json_python_literal_fallback"
    """The corrected text was parsed as Python instead of JSON."""
    JSON_REPAIR = "json_repair_fallback"
    """The json-repair library parsed the text."""
    NEAR_KEYS = "near_keys_matched"
    """Keys such as `sleep` or `PHQ-8 Sleep` were taken for the key of their item."""
    UNKNOWN_KEYS = "unknown_keys_dropped"
    """Keys that belong to no item were left out."""
    SEVERAL_ANSWERS = "several_answers"
    """Of several answers that differ, the last was taken."""


Found = TypeVar("Found")


class ParsedReply(NamedTuple, Generic[Found]):
    """What a reply gives, and the repairs that parsing needed, in order; none if strict parsing succeeded."""

    value: Found
    repairs: tuple[RepairStep, ...]


ReplyObject = ParsedReply[dict[str, Any]]


def unwrap(reply: str) -> str:
    """The part of a reply that should be JSON. The text between the last pair of answer tags if there is one; of that
    the fenced block if there is one; unclosed fences are removed.

    >>> unwrap('Thinking aloud. <answer>```json {"score": 1} ```</answer>')
    '{"score": 1}'
    """
    before_end, end_tag, _ = reply.rpartition("</answer>")
    _, start_tag, answer = before_end.rpartition("<answer>")
    text = answer if start_tag and end_tag else reply
    block = fenced_block(text)
    return _FENCE.sub("", text if block is None else block).strip()


def fenced_block(text: str) -> str | None:
    """What follows the first fence after which an object begins, up to the next fence; else the first fenced block. A
    fence that is opened twice, or an empty block before the object, is skipped. None without a fenced block.

    >>> fenced_block('```json\\n```\\n```json\\n{"score": 1}\\n```').strip()
    '{"score": 1}'
    """
    _, *parts = _FENCE.split(text)
    objects = (part for part in parts[:-1] if part.lstrip().startswith("{"))
    block = _FENCED_BLOCK.search(text)
    return next(objects, block[1] if block else None)


def _without_fence(reply: str) -> str:
    text = reply.strip()
    if not text.endswith("```") or (opening := _OPENING_FENCES.match(text)) is None:
        return text
    return text[opening.end() :].rstrip("` \t\r\n")


_Pairs = list[tuple[str, Any]]
"""The members of an object, in order."""


def parse_strict(raw: str) -> dict[str, Any]:
    """The object of a validator's reply, which may be inside a code fence and nothing else. Nothing is repaired, and a
    repeated name is refused, because either value would be a guess. Raises LLMResponseParseError.

    >>> parse_strict('```json\\n{"decision": "accept"}\\n```')
    {'decision': 'accept'}
    """
    try:
        return strict_object(_without_fence(raw))
    except ValueError as error:
        raise LLMResponseParseError(raw, str(error)) from None


def _unique(pairs: _Pairs) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(_TWICE)
    return members


def strict_object(text: str, *, members: Callable[[_Pairs], dict[str, Any]] = _unique) -> dict[str, Any]:
    """The JSON object in `text`; `members` builds each object in it. Raises ValueError, whose message has the position
    but no part of the text."""
    value = _loaded(text, members)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {json_type(value)}")
    return value


def closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these members, for a server to enforce."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _loaded(text: str, members: Callable[[_Pairs], dict[str, Any]] = dict) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def json_type(value: object) -> str:
    """The JSON type of a parsed value: object, array, string, boolean, number or null."""
    for types, word in ((dict, "object"), (list, "array"), (str, "string"), (bool, "boolean"), (int | float, "number")):
        if isinstance(value, types):
            return word
    return "null"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _RepeatedName(Exception):
    """A name occurs twice in one object, with different values: either would be a guess."""


def _strict(text: str, *repairs: RepairStep) -> ReplyObject:
    """The JSON object in `text` after these repairs, to which the removal of zero-width characters from its names is
    added. Raises ValueError as `strict_object` does, and _RepeatedName."""
    had_zero_width_names = False

    def members(pairs: _Pairs) -> dict[str, Any]:
        nonlocal had_zero_width_names
        found: dict[str, Any] = {}
        for name, value in pairs:
            visible = without_zero_width(name)
            had_zero_width_names |= visible != name
            if found.setdefault(visible, value) != value:
                raise _RepeatedName
        return found

    value = strict_object(text, members=members)
    is_new = had_zero_width_names and RepairStep.FIXUPS not in repairs
    return ParsedReply(value, (RepairStep.FIXUPS, *repairs) if is_new else repairs)


# A quote closes a string when the next text after white space is one of `, } ] :`, the end of the text, or
# another `"name":`. All other quotes belong to the string.

_SMART_QUOTES = str.maketrans(dict.fromkeys("“”„‟", '"') | dict.fromkeys("‘’‚‛", "'"))
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)
_AFTER_A_STRING = re.compile(r'\s*(?:[,}\]:]|\Z|"(?:\\.|[^"\\\n])*"\s*:)', re.DOTALL)
_ESCAPE_OR_CONTROL = re.compile(r"\\[^\x00-\x1f]|\\?([\x00-\x1f])")
_COMMAS_AND_BRACKET = re.compile(r",[\s,]*([}\]])?")
_SHORT_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def tolerant_fixups(text: str) -> str:
    """The text after as many corrections as needed to make it JSON, or after all of them. Valid JSON is returned
    unchanged, and so is any earlier result of this function.

    >>> tolerant_fixups('{"quotes": ["she said "never again"",],}')
    '{"quotes": ["she said \\\\"never again\\\\""]}'
    """
    for fixup in FIXUPS:
        with suppress(ValueError):
            _loaded(text)
            return text
        text = fixup(text)
    return text


def straighten_smart_quotes(text: str) -> str:
    """Typographic quotes become ASCII ones."""
    return text.translate(_SMART_QUOTES)


def insert_missing_commas(text: str) -> str:
    """A comma is inserted between a value and the `"name":` on a later line."""
    parts = _split_at_strings(text)
    for gap in range(2, len(parts) - 1, 2):
        value = parts[gap].rstrip()
        white = parts[gap][len(value) :]
        after_a_value = not value or value[-1].isalnum() or value[-1] in "}]"
        before_a_name = parts[gap + 2].lstrip().startswith(":")
        if after_a_value and "\n" in white and before_a_name:
            parts[gap] = value + "," + white
    return "".join(parts)


def escape_inner_quotes(text: str) -> str:
    """Quotes inside a string get a backslash."""
    return _map_strings(text, lambda body: _QUOTE_OR_ESCAPE.sub(_escaped_quote, body))


def escape_control_characters(text: str) -> str:
    """Raw control characters inside a string become escapes."""
    return _map_strings(text, lambda body: _ESCAPE_OR_CONTROL.sub(_escaped_control, body))


def join_string_fragments(text: str) -> str:
    """Several strings in place of one value become lines of one: `"a": "x", "y"` gives `"a": "x\\ny"`."""
    parts = _split_at_strings(text)
    joined = parts[:2]
    for gap, string, after in zip(parts[2::2], parts[3::2], parts[4::2], strict=False):
        in_value_position = joined[-2].rstrip().endswith(":")
        if in_value_position and gap.strip() == "," and not after.lstrip().startswith(":"):
            joined[-1] = joined[-1][:-1] + r"\n" + string[1:]
        else:
            joined += [gap, string]
    return "".join(joined + parts[len(parts) - 1 :]) if len(parts) > 1 else text


def drop_trailing_commas(text: str) -> str:
    """Commas before a closing bracket are removed."""
    parts = _split_at_strings(text)
    parts[::2] = [_COMMAS_AND_BRACKET.sub(lambda run: run[1] or run[0], gap) for gap in parts[::2]]
    return "".join(parts)


FIXUPS: tuple[Callable[[str], str], ...] = (
    straighten_smart_quotes,
    insert_missing_commas,
    escape_inner_quotes,
    escape_control_characters,
    join_string_fragments,
    drop_trailing_commas,
)


def _split_at_strings(text: str) -> list[str]:
    """Alternating gaps and strings, a gap first and last; an unclosed string belongs to the last gap."""
    parts = []
    at = 0
    while (opening := text.find('"', at)) >= 0 and (end := _end_of_string(text, opening)):
        parts += [text[at:opening], text[opening:end]]
        at = end
    return [*parts, text[at:]]


def _end_of_string(text: str, opening: int) -> int | None:
    for mark in _QUOTE_OR_ESCAPE.finditer(text, opening + 1):
        if mark[0] == '"' and _AFTER_A_STRING.match(text, mark.end()):
            return mark.end()
    return None


def _map_strings(text: str, change: Callable[[str], str]) -> str:
    parts = _split_at_strings(text)
    parts[1::2] = [f'"{change(string[1:-1])}"' for string in parts[1::2]]
    return "".join(parts)


def _escaped_quote(mark: re.Match[str]) -> str:
    return r"\"" if mark[0] == '"' else mark[0]


def _escaped_control(mark: re.Match[str]) -> str:
    control = mark[1]
    return _SHORT_ESCAPES.get(control, f"\\u{ord(control):04x}") if control else mark[0]


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
    JSON's true, false and null are accepted outside strings. Raises _RepeatedName for a name that is given twice.

    >>> python_literal_object("{'slept': true, 'hours': (3, 4)}")
    {'slept': True, 'hours': [3, 4]}
    """
    try:
        tree = ast.parse(_TOKEN.sub(_as_python, text).lstrip(" \t"), mode="eval")
        literal = ast.literal_eval(tree)
        _refuse_repeated_names(tree)
        return _strict(json.dumps(literal, allow_nan=False)).value
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _refuse_repeated_names(tree: ast.AST) -> None:
    """Python keeps the last of several equal keys."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = Counter(key.value for key in node.keys if isinstance(key, ast.Constant))
            if any(count > 1 for count in names.values()):
                raise _RepeatedName


def _as_python(token: re.Match[str]) -> str:
    return _PYTHON_SPELLING.get(token[0]) or _ESCAPE.sub(_known_escape, token[0])


def _known_escape(escape: re.Match[str]) -> str:
    """Python warns of unknown escapes and keeps their backslash; this keeps it without the warning."""
    if escape[1] == "/":
        return "/"
    return escape[0] if escape[1] in _PYTHON_ESCAPES else "\\" + escape[0]


_REPAIRABLE_CHARS: Final = 16_000
_REPAIR_SECONDS: Final = 10.0
_JSON_REPAIR: Final = (sys.executable, "-I", "-m", "json_repair", "--skip-json-loads", "--ensure_ascii")
"""In a process of its own: its time grows with the square of the length of some texts, 6 s for 16,000 characters."""


def parse_reply(raw: str) -> ReplyObject:
    """The JSON object of a reply: as it is, unwrapped, corrected, as a Python literal, or repaired.

    Names of members have no zero-width characters, and the text has none from the first correction on. Raises
    LLMResponseParseError with the error of the first strict parse of the unwrapped reply, which is more informative
    than the error of the last step. A reply that is JSON but not an object is never accepted, nor is one that repeats
    a name with another value.

    >>> parse_reply('{"PHQ8_Sleep": ["up at three",]}')
    ParsedReply(value={'PHQ8_Sleep': ['up at three']}, repairs=(<RepairStep.FIXUPS: 'json_fixups_applied'>,))
    """
    try:
        return _parsed(raw)
    except _RepeatedName:
        raise LLMResponseParseError(raw, _TWICE) from None


def _parsed(raw: str) -> ReplyObject:
    if (found := _strict_or_none(raw.strip())) is not None:
        return found
    text = unwrap(raw)
    try:
        return _strict(text)
    except ValueError as error:
        first_error = str(error)

    visible = unwrap(without_zero_width(raw))
    seen = (RepairStep.FIXUPS,) if visible != text else ()
    corrected = tolerant_fixups(visible)
    repairs = (RepairStep.FIXUPS,) if corrected != text else ()
    if (found := _strict_or_none(corrected, *repairs)) is not None:
        return found
    if (value := python_literal_object(corrected)) is not None:
        return ParsedReply(value, (*repairs, RepairStep.PYTHON_LITERAL))
    # The library guesses better from the model's text than from corrections that did not produce JSON.
    if (found := _repaired_or_none(visible, *seen)) is not None:
        return found
    raise LLMResponseParseError(raw, first_error)


def _strict_or_none(text: str, *repairs: RepairStep) -> ReplyObject | None:
    try:
        return _strict(text, *repairs)
    except ValueError:
        return None


def _repaired_or_none(text: str, *repairs: RepairStep) -> ReplyObject | None:
    if len(text) > _REPAIRABLE_CHARS:
        return None
    try:
        repair = subprocess.run(
            _JSON_REPAIR, input=text, capture_output=True, check=True, encoding="utf-8", timeout=_REPAIR_SECONDS
        )
    except (UnicodeError, subprocess.SubprocessError):
        return None
    # Escapes in names can be zero-width characters too.
    return _strict_or_none(repair.stdout, *repairs, RepairStep.JSON_REPAIR)
