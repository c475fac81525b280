"""The passages of a prompt, extracted from its text."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from schemas.values.queries import Source
from stages.queries.augment import place_of


class SourceText(NamedTuple):
    """A source as a prompt shows it."""

    path: str
    """Its title and the headings above it, as one line."""
    text: str


def source_texts(prompt: str, sources: Iterable[Source]) -> dict[str, SourceText]:
    """The blocks of these sources in a prompt, by label; sources without a block are absent.

    A block is found by its fence and by the work and the lines that its first line names, in the order of the labels.
    Text in a passage that resembles another block is not mistaken for it.
    """
    found: dict[str, SourceText] = {}
    place = 0
    for source in sources:
        block = _block(source).search(prompt, place)
        if block is not None:
            found[source.label] = SourceText(block["path"], block["text"] or "")
            place = block.end()
    return found


def _block(source: Source) -> re.Pattern[str]:
    """As `stages.texts.fence.fenced` and `stages.queries.augment.source_block` write it."""
    return re.compile(
        rf"^<<< {source.label} (?P<mark>[0-9a-f]+)\n"
        rf"\[{source.label}\] Source: (?P<path>[^\n]*) \| \({place_of(source)}\)\nText:"
        rf"(?:\n(?P<text>.*?))?\n{source.label} (?P=mark) >>>$",
        re.MULTILINE | re.DOTALL,
    )
