"""Six small corrections of nearly valid JSON, tried in a fixed order.

A quote closes a string when the next text after white space is one of `, } ] :`, the end of the text, or
another `"name":`. All other quotes belong to the string.
"""

import re
from collections.abc import Callable

from stages.replies.strict import is_json

_SMART_QUOTES = str.maketrans(dict.fromkeys("“”„‟", '"') | dict.fromkeys("‘’‚‛", "'"))
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)
_AFTER_A_STRING = re.compile(r'\s*(?:[,}\]:]|\Z|"(?:\\.|[^"\\\n])*"\s*:)', re.DOTALL)
_ESCAPE_OR_CONTROL = re.compile(r"\\[^\x00-\x1f]|\\?([\x00-\x1f])")
_COMMAS_AND_BRACKET = re.compile(r",[\s,]*([}\]])?")
_SHORT_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def tolerant_fixups(text: str) -> str:
    """The text after as many corrections as needed to make it JSON, or after all of them.

    Valid JSON is returned unchanged, and so is any earlier result of this function.

    >>> tolerant_fixups('{"quotes": ["she said "never again"",],}')
    '{"quotes": ["she said \\\\"never again\\\\""]}'
    """
    for fixup in FIXUPS:
        if is_json(text):
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
