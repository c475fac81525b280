"""The reference examples of the scoring prompt, byte for byte (Specs 31 and 33)."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from schemas.values.participants import Reference
from schemas.values.phq8 import PHQ8Item
from stages.participants.chunk_texts import text_of

PromptFormat = Literal["xml", "sentinel", "notebook"]
"""The last line of the block, and what stands for no references: see `reference_block`."""

_OPEN: Final = "<Reference Examples>"
_CLOSE: Final[dict[PromptFormat, str]] = {
    "xml": "</Reference Examples>",
    "sentinel": "</Reference Examples>",
    # The notebook of the paper repeated the opening tag.
    "notebook": _OPEN,
}
NO_ENTRIES: Final = f"{_OPEN}\n\n{_CLOSE['xml']}\n"
"""What the block takes beside its entries."""
_SENTINEL: Final = "No valid evidence found"


def reference_block(
    items: Mapping[PHQ8Item, tuple[Reference, ...]], chunk_texts: Mapping[int, str], *, prompt_format: PromptFormat
) -> str:
    """All references of all items in one block.

    An entry is `(PHQ8_Sleep Score: 2)` and, on the next line, the unchanged chunk. Entries are in the order of the
    questionnaire, within an item in the order given, with a blank line before, between and after them. References
    without a score are omitted. Without entries the block is an empty string in the format `xml`, and a sentence
    between the tags in the others.

    Raises InputChangedError when a chunk's text differs from the one that was retrieved.
    """
    entries = list(_entries(items, chunk_texts))
    if entries:
        return "\n\n".join([_OPEN, *entries, _CLOSE[prompt_format]])
    return "" if prompt_format == "xml" else f"{_OPEN}\n{_SENTINEL}\n{_CLOSE[prompt_format]}"


def shown(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    """The references with a score, which the block shows."""
    return tuple(reference for reference in references if reference.score is not None)


def entry(item: PHQ8Item, reference: Reference, chunk_texts: Mapping[int, str]) -> str:
    """One reference of the block. Raises InputChangedError as `reference_block` does."""
    return f"({item.evidence_key} Score: {reference.score})\n{text_of(reference, chunk_texts)}"


def _entries(items: Mapping[PHQ8Item, tuple[Reference, ...]], chunk_texts: Mapping[int, str]) -> Iterator[str]:
    for item in PHQ8Item:
        for reference in shown(items.get(item, ())):
            yield entry(item, reference, chunk_texts)
