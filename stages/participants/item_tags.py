"""The items that a chunk of a transcript mentions (Spec 34), by the phrases in item_phrases.toml."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from schemas.values.phq8 import PHQ8Item

_QUOTES = re.compile("['’‘`]")


def tag_chunk(text: str) -> tuple[str, ...]:
    """The evidence keys of the items with a phrase in a line of the text, each once, in alphabetical order.

    A phrase matches whole words on one line, ignoring case, spacing and apostrophes.

    >>> tag_chunk("Participant: i CANT sleep\\nParticipant: since i retired i’m tired")
    ('PHQ8_Sleep', 'PHQ8_Tired')
    """
    plain = _plain(text)
    return tuple(sorted(item.evidence_key for item, pattern in _patterns().items() if pattern.search(plain)))


@cache
def phrases() -> Mapping[PHQ8Item, tuple[str, ...]]:
    """The phrases of each item as written in the file."""
    lists = tomllib.loads(_file())
    return {item: tuple(lists[item.evidence_key]) for item in PHQ8Item}


@cache
def _patterns() -> Mapping[PHQ8Item, re.Pattern[str]]:
    return {
        item: re.compile(rf"\b(?:{'|'.join(re.escape(_plain(phrase)) for phrase in of_item)})\b")
        for item, of_item in phrases().items()
    }


def _file() -> str:
    return (resources.files("stages.participants") / "item_phrases.toml").read_text("utf-8")


def _plain(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in _QUOTES.sub("", text.lower()).splitlines())
