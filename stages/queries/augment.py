"""Stage `augment`: the prompt that asks for the answer, with its sources in `[S#]` blocks."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from schemas.errors import DomainError
from schemas.values.documents import CorpusChunk
from schemas.values.queries import (
    AugmentedPrompt,
    ConsolidatedContext,
    ContextGroup,
    ContextSource,
    Expansion,
    Passage,
    RerankedChunk,
    Source,
)
from stages.corpora.cut import plain_sentences
from stages.models import most_prompt_tokens, most_tokens, reply_room
from stages.queries.consolidate import group_of, heading_of, nearest_heading
from stages.queries.templates import answer_messages, render
from stages.texts.characters import fenced, visible

NO_CONTEXT = "(No context available)"
_NO_INTENT = "GENERAL"
_NO_ENTITIES = "None specified"
_LEAST_CHARS = 200
"""A shorter beginning of a passage is no source."""


def augment_prompt(
    query: str,
    expansion: Expansion,
    consolidated: ConsolidatedContext | None,
    retrieved: Sequence[RerankedChunk],
    *,
    names: Mapping[int, tuple[str, str]],
    parents: Mapping[int, CorpusChunk],
    template: str,
    template_tag: str,
    template_version: int,
    top_n: int,
    context_tokens: int | None = None,
    max_answer_tokens: int | None = None,
) -> AugmentedPrompt:
    """The prompt with the first `top_n` passages of the consolidated context, in that order; without any, with the
    retrieved chunks, best score first. Titles and corpora are by work id, heading chunks around the passages by id.

    With `context_tokens`, the prompt and its answer fit into so many: passages at the end are left out, and the last
    that is shown may end earlier, with a sentence. Raises DomainError where not even the start of one fits, and
    TemplateError for a template that cannot be filled in.
    """
    source, passages = _context(consolidated, retrieved, parents)
    wanted = [
        (_source(f"S{number}", passage, names, parents), passage)
        for number, passage in enumerate(passages[:top_n], start=1)
    ]
    entities = ", ".join(_one_line(entity) for entity in expansion.entities) or _NO_ENTITIES
    values = {
        "user_question": query,
        "query": query,
        "intent": _one_line(expansion.intent or _NO_INTENT),
        "entities_str": entities,
        "entities": entities,
    }

    def prompt_with(blocks: str) -> str:
        return render(template, values | {"context_blocks": blocks, "contexts": blocks})

    if context_tokens is None:
        shown, cut_chars = wanted, 0
    else:
        taken = most_prompt_tokens(answer_messages(prompt_with(""))) + reply_room(context_tokens, max_answer_tokens)
        room = context_tokens - taken
        shown, cut_chars = _fitting(wanted, room, parents)
        if wanted and not shown:
            raise DomainError(
                f"The model reads and writes {context_tokens} tokens together; the question, the instructions and room "
                f"for the answer take about {taken} of them, which leaves no room for a source. Use a model with a "
                "longer context, or the shorter instructions of RAGQ_ANSWER_TEMPLATE=short_answer."
            )
    blocks = "\n\n".join(_block(of, passage, parents) for of, passage in shown) or NO_CONTEXT
    return AugmentedPrompt(
        prompt=prompt_with(blocks),
        template_tag=template_tag,
        template_version=template_version,
        context_source=source,
        available=len(passages),
        shown=len(shown),
        top_n=top_n,
        sources=tuple(of for of, _ in shown),
        context_tokens=context_tokens,
        left_out=len(wanted) - len(shown),
        cut_chars=cut_chars,
    )


def _fitting(
    wanted: Sequence[tuple[Source, ContextGroup]], room: int, parents: Mapping[int, CorpusChunk]
) -> tuple[list[tuple[Source, ContextGroup]], int]:
    """The first passages that fit into so many tokens, and the characters by which the last of them is shorter."""
    shown: list[tuple[Source, ContextGroup]] = []
    for of, passage in wanted:
        left = room - most_tokens(_block(of, passage, parents)) - 1
        if left < 0:
            if (start := _start(of, passage, room, parents, must_fit=not shown)) is None:
                break
            return [*shown, (of, start)], len(passage.content.strip()) - len(start.content)
        shown.append((of, passage))
        room = left
    return shown, 0


def _start(
    of: Source, passage: ContextGroup, room: int, parents: Mapping[int, CorpusChunk], *, must_fit: bool
) -> ContextGroup | None:
    """The passage up to the last sentence, or line, that fits; None where that is not worth a source. Where it
    `must_fit`, a part of a sentence is better than nothing."""
    content = passage.content.strip()

    def cut(end: int) -> ContextGroup:
        return passage.model_copy(update={"content": content[:end].rstrip()})

    def longest(ends: Iterable[int]) -> int:
        found = sorted(ends)
        fitting = bisect_right(found, room, key=lambda end: most_tokens(_block(of, cut(end), parents)) + 1)
        return found[fitting - 1] if fitting else 0

    sentences = accumulate(map(len, plain_sentences(content)))
    lines = (at for at, char in enumerate(content) if char == "\n")
    end = longest({*sentences, *lines})
    if must_fit and not end:
        end = longest({at for at, char in enumerate(content) if char == " "} or range(0, len(content), 100))
    return cut(end) if end >= (1 if must_fit else _LEAST_CHARS) else None


def _block(source: Source, passage: ContextGroup, parents: Mapping[int, CorpusChunk]) -> str:
    """One source, fenced: a line with its label, work, headings, lines and pages, then its text."""
    path = " > ".join(_one_line(part) for part in (source.title, *_headings_above(passage, parents)))
    place = f"[{source.label}] Source: {path} | ({place_of(source)})"
    return fenced(source.label, f"{place}\nText:\n{passage.content.strip()}")


def place_of(source: Source) -> str:
    """The place of a source, as the first line of its block has it; pages only of a work that has some."""
    lines = f"work_id={source.work_id}, start-line={source.start_line}, end-line={source.end_line}"
    return lines if source.pages is None else f"{lines}, start-page={source.pages[0]}, end-page={source.pages[1]}"


def _context(
    consolidated: ConsolidatedContext | None, retrieved: Sequence[RerankedChunk], parents: Mapping[int, CorpusChunk]
) -> tuple[ContextSource, Sequence[ContextGroup]]:
    if consolidated and consolidated.groups:
        return ContextSource.CONSOLIDATED, consolidated.groups
    if retrieved:
        best_first = sorted(retrieved, key=lambda chunk: -chunk.final_score)
        return ContextSource.RETRIEVED, [group_of(chunk, parents) for chunk in best_first]
    return ContextSource.EMPTY, ()


def _headings_above(passage: ContextGroup, parents: Mapping[int, CorpusChunk]) -> tuple[str, ...]:
    heading = nearest_heading(passage.parent_id, parents)
    return passage.heading_chain or ((heading,) if heading else ())


def _source(
    label: str, passage: ContextGroup, names: Mapping[int, tuple[str, str]], parents: Mapping[int, CorpusChunk]
) -> Source:
    title, corpus = names.get(passage.work_id, (f"Unknown Work (id={passage.work_id})", ""))
    above, own = _headings_above(passage, parents), heading_of(passage.content)
    return Source(
        label=label,
        title=title,
        corpus=corpus,
        heading_chain=above if own is None or own in above[-1:] else (*above, own),
        **passage.model_dump(include=Passage.model_fields.keys() - {"heading_chain"}),
    )


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())


class SourceText(NamedTuple):
    """A source as a prompt shows it."""

    path: str
    """Its title and the headings above it, as one line."""
    text: str


def source_texts(prompt: str, sources: Iterable[Source]) -> dict[str, SourceText]:
    """The blocks of these sources in a prompt, by label; sources without a block are absent. A block is found by its
    fence and its first line, in the order of the labels, so that no passage that resembles one is mistaken for it."""
    found: dict[str, SourceText] = {}
    place = 0
    for source in sources:
        block = _sources_block(source).search(prompt, place)
        if block is not None:
            found[source.label] = SourceText(block["path"], block["text"] or "")
            place = block.end()
    return found


def _sources_block(source: Source) -> re.Pattern[str]:
    """As `_block` writes it."""
    return re.compile(
        rf"^<<< {source.label} (?P<mark>[0-9a-f]+)\n"
        rf"\[{source.label}\] Source: (?P<path>[^\n]*) \| \({place_of(source)}\)\nText:"
        rf"(?:\n(?P<text>.*?))?\n{source.label} (?P=mark) >>>$",
        re.MULTILINE | re.DOTALL,
    )
