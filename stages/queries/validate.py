"""Stage `validate`: whether the corpus answers the question, and a language model's verdict on each chunk (CRAG)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from schemas.errors import NothingRelevantError
from schemas.full_text import ENGLISH
from schemas.settings.preset import ValidationPreset
from schemas.settings.run import RunSettings
from schemas.values.chat import Message, ReaskReason
from schemas.values.participants import Decision
from schemas.values.queries import RerankedChunk, ValidatedChunks
from stages.corpora.cut import SEPARATOR
from stages.ports import ChatModel, Embedder, Terms
from stages.queries.extract_answer import units_of
from stages.queries.relevance import Evidence
from stages.queries.templates import render
from stages.replies.asking import ask_verdict, decide, messages_of
from stages.texts.characters import DATA_RULE, fenced
from stages.vectors import unit_vectors

_SYSTEM = f"""\
You check passages before somebody answers a question from them. You answer with one JSON object, \
{{"decision": "accept"}}, {{"decision": "reject"}} or {{"decision": "unsure"}}, and with nothing else. {DATA_RULE}"""


def keep_all(chunks: Sequence[RerankedChunk], *, allow_empty: bool) -> ValidatedChunks:
    """Validation disabled: every chunk is kept, whatever the cap, without a call. Raises NothingRelevantError when
    there are none, unless `allow_empty`."""
    return _not_empty(ValidatedChunks(validator=None, chunks=tuple(chunks), verdicts=()), allow_empty=allow_empty)


async def validate_chunks(
    query: str,
    chunks: Sequence[RerankedChunk],
    *,
    template: str,
    chat: ChatModel,
    settings: RunSettings,
    preset: ValidationPreset,
) -> ValidatedChunks:
    """Judge the chunks in order, until enough are accepted; `unsure` excludes one as `reject` does. Raises
    NothingRelevantError when none is accepted, unless that is allowed, and as `decide` and `ask_verdict` do."""
    model = preset.model or settings.model.judge_model
    reasks: list[ReaskReason] = []

    async def ask(rank: int, chunk: RerankedChunk) -> Decision:
        messages = verdict_messages(query, chunk, template=template, max_chars=settings.ragq.validation_max_chars)
        usable = await ask_verdict(messages, purpose=f"validate rank {rank}", chat=chat, model=model, settings=settings)
        reasks.extend(usable.reasks)
        return usable.read

    accepted, verdicts = await decide(chunks, ask=ask, enough=preset.max_chunks)
    found = ValidatedChunks(validator=model, chunks=accepted, verdicts=verdicts, reasks=tuple(reasks))
    return _not_empty(found, allow_empty=preset.allow_empty)


def verdict_messages(query: str, chunk: RerankedChunk, *, template: str, max_chars: int) -> tuple[Message, ...]:
    """The messages about one chunk: its headings and the text that was ranked, cut at `max_chars` characters."""
    passage = "\n\n".join(part for part in (chunk.heading_breadcrumbs, chunk.enriched_content) if part)
    values = {"query": fenced("question", query), "chunk": fenced("passage", passage, max_chars=max_chars)}
    return messages_of(_SYSTEM, render(template, values))


def _not_empty(validated: ValidatedChunks, *, allow_empty: bool) -> ValidatedChunks:
    judged = len(validated.verdicts)
    if not validated.chunks and not allow_empty:
        raise NothingRelevantError(
            f"Stage 'validate' accepted none of {judged} judged chunks"
            if judged
            else "The search left no chunk to validate",
            "validation.enabled=false" if judged else "retrieval.min_word_count=0",
        )
    return validated


_PASSAGES: Final = 3
_UNITS: Final = 200


async def evidence(
    question: str,
    chunks: Sequence[RerankedChunk],
    *,
    embedder: Embedder,
    terms: Terms,
    timeout_s: float,
    language: str = ENGLISH,
) -> Evidence | None:
    """The numbers of a question and the first three chunks that were found for it; None if they have no sentence. Each
    sentence is seen with the heading above it. Raises what `unit_vectors` raises."""
    units = []
    for place, chunk in enumerate(chunks[:_PASSAGES]):
        heading = (chunk.heading_breadcrumbs or "").rpartition(SEPARATOR)[2]
        units += units_of(place, chunk.content, heading=heading, language=language)
    units = units[:_UNITS]
    if not units:
        return None
    texts = [question, *(unit.searched for unit in units)]
    rows = (await unit_vectors(texts, embedder=embedder, timeout_s=timeout_s)).vectors.astype(np.float64)
    asked, *of_units = await terms(texts)
    nearest = np.sort(rows[1:] @ rows[0])[::-1][:3]
    by_passage = defaultdict[int, set[str]](set)
    for unit, of in zip(units, of_units, strict=True):
        by_passage[unit.source] |= of.keys()
    return Evidence(
        float(nearest[0]),
        float(nearest.mean()),
        max(_coverage(asked, of) for of in of_units),
        max(_coverage(asked, of) for of in by_passage.values()),
    )


def _coverage(asked: Collection[str], terms: Collection[str]) -> float:
    return sum(term in terms for term in asked) / len(asked) if asked else 0.0
