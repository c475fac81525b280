"""The sources of an answer: their texts in the prompt, which it cites, and what it is based on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from schemas.full_text import SIMPLE
from schemas.values.queries import AnswerBasis, ContextSource, Source
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
    """As `stages.texts.markdown.fenced` and `stages.queries.augment.source_block` write it."""
    return re.compile(
        rf"^<<< {source.label} (?P<mark>[0-9a-f]+)\n"
        rf"\[{source.label}\] Source: (?P<path>[^\n]*) \| \({place_of(source)}\)\nText:"
        rf"(?:\n(?P<text>.*?))?\n{source.label} (?P=mark) >>>$",
        re.MULTILINE | re.DOTALL,
    )


FILTERS: Final = {"blank": "blank", "min_chars": "retrieval.min_char_count", "min_words": "retrieval.min_word_count"}
"""The names of the filters of stage `rerank`, by the names that its output has."""


def basis_in_words(basis: AnswerBasis) -> list[str]:
    """One sentence for each fallback, and for each loss between the search and the prompt; none when nothing was lost.

    >>> basis_in_words(AnswerBasis(context_source="retrieved", shown=2, available=2, dropped_passages=2))
    ['The sources are the retrieved chunks: all 2 passages were shorter than consolidation.min_content_length.']
    """
    words = []
    if len(basis.corpora) > 1:
        words.append(f"Searched together: corpora {', '.join(basis.corpora)}.")
    if basis.works.given:
        words.append(f"Only works of these conditions were searched: {basis.works}.")
    if basis.full_text == SIMPLE:
        words.append("Full text was read without a dictionary: words match as they are written.")
    if basis.context_source is ContextSource.EMPTY:
        words.append("The prompt has no sources: nothing was left of the search, which the preset allows.")
    if basis.context_source is ContextSource.RETRIEVED:
        words.append(f"The sources are the retrieved chunks: {_why_retrieved(basis)}.")
    elif basis.dropped_passages:
        words.append(
            f"{_count(basis.dropped_passages, 'passage')} shorter than consolidation.min_content_length dropped."
        )
    if lost := sum(basis.dropped_chunks.values()):
        words.append(
            f"{lost} of {basis.found_chunks} retrieved chunks dropped as too short ({_by(basis.dropped_chunks)})."
        )
    if basis.kept_short:
        words.append(
            f"All {sum(basis.kept_short.values())} retrieved chunks are too short ({_by(basis.kept_short)}); they were "
            "kept because no longer one was found."
        )
    if basis.rejected_chunks:
        words.append(f"{_count(basis.rejected_chunks, 'chunk')} not accepted by validation.")
    if "without the weights" in (basis.ranker or ""):
        words.append(f"Ranked by {basis.ranker}.")
    if basis.cut_texts:
        words.append(f"{_count(basis.cut_texts, 'text')} of the question longer than the embedder reads, and cut.")
    if basis.cut_chunks:
        of_sources = _count(basis.cut_chunks, "chunk")
        words.append(f"{of_sources} of the sources longer than the embedder reads: their ends were not compared.")
    if basis.left_out or basis.cut_chars:
        words.append(
            f"The model reads and writes {basis.context_tokens} tokens together, so that "
            + " and ".join(_not_shown(basis))
            + " did not fit into the prompt."
        )
    if basis.shown < basis.available:
        words.append(f"The prompt has {basis.shown} of {basis.available} available sources.")
    return words


def _not_shown(basis: AnswerBasis) -> Iterator[str]:
    if basis.left_out:
        yield _count(basis.left_out, "further source")
    if basis.cut_chars:
        yield f"the last {basis.cut_chars} characters of source S{basis.shown}"


def _why_retrieved(basis: AnswerBasis) -> str:
    if basis.dropped_passages:
        return f"all {basis.dropped_passages} passages were shorter than consolidation.min_content_length"
    if basis.consolidated_count is None:
        return "consolidation has not run"
    return "consolidation is switched off, or left no passage"


def _by(filters: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {FILTERS.get(name, name)}" for name, count in filters.items())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
