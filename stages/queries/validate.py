"""Stage `validate`: whether the corpus answers the question, and a language model's verdict on each chunk (CRAG)."""

from collections.abc import Sequence

from schemas.errors import NothingRelevantError
from schemas.settings.preset import ValidationPreset
from schemas.settings.run import RunSettings
from schemas.values.chat import Message, ReaskReason
from schemas.values.participants import Decision, Verdict
from schemas.values.queries import RerankedChunk, ValidatedChunks
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.replies.verdicts import ask_verdict, decide
from stages.texts.characters import DATA_RULE, fenced

_SYSTEM = f"""\
You check passages before somebody answers a question from them. You answer with one JSON object, \
{{"decision": "accept"}}, {{"decision": "reject"}} or {{"decision": "unsure"}}, and with nothing else. {DATA_RULE}"""


def refuse_below(probability: float, floor: float) -> None:
    """Raise NothingRelevantError for a question that the corpus answers with a lower probability than the floor."""
    if probability < floor:
        raise NothingRelevantError(
            f"No passage of this corpus answers the question: the probability is {probability:.2f}, and "
            f"RAGQ_RELEVANCE_FLOOR is {floor:g}",
            setting="RAGQ_RELEVANCE_FLOOR=0",
        )


def keep_all(chunks: Sequence[RerankedChunk], *, allow_empty: bool) -> ValidatedChunks:
    """Validation disabled: every chunk is kept, whatever the cap, without a call.

    Raises NothingRelevantError when there are none, unless `allow_empty`.
    """
    return _validated(None, chunks, (), (), allow_empty=allow_empty)


async def validate_chunks(
    query: str,
    chunks: Sequence[RerankedChunk],
    *,
    template: str,
    chat: ChatModel,
    settings: RunSettings,
    preset: ValidationPreset,
) -> ValidatedChunks:
    """Ask about the chunks in order, until enough are accepted; keep only those.

    `unsure` excludes a chunk as `reject` does. Raises NothingRelevantError when no chunk is accepted or there is none,
    unless that is allowed, Deferred as `decide` does, and as `ask_verdict` does.
    """
    model = preset.model or settings.model.judge_model
    reasks: list[ReaskReason] = []

    async def ask(rank: int, chunk: RerankedChunk) -> Decision:
        messages = verdict_messages(query, chunk, template=template, max_chars=settings.ragq.validation_max_chars)
        usable = await ask_verdict(messages, purpose=f"validate rank {rank}", chat=chat, model=model, settings=settings)
        reasks.extend(usable.reasks)
        return usable.read

    accepted, verdicts = await decide(chunks, ask=ask, enough=preset.max_chunks)
    return _validated(model, accepted, verdicts, reasks, allow_empty=preset.allow_empty)


def verdict_messages(query: str, chunk: RerankedChunk, *, template: str, max_chars: int) -> tuple[Message, ...]:
    """The messages about one chunk: its headings and the text that was ranked, cut at `max_chars` characters."""
    passage = "\n\n".join(part for part in (chunk.heading_breadcrumbs, chunk.enriched_content) if part)
    values = {"query": fenced("question", query), "chunk": fenced("passage", passage, max_chars=max_chars)}
    return Message(role="system", content=_SYSTEM), Message(role="user", content=render(template, values))


def _validated(
    validator: str | None,
    kept: Sequence[RerankedChunk],
    verdicts: Sequence[Verdict],
    reasks: Sequence[ReaskReason],
    *,
    allow_empty: bool,
) -> ValidatedChunks:
    if not kept and not allow_empty:
        raise NothingRelevantError(
            f"Stage 'validate' accepted none of {len(verdicts)} judged chunks"
            if verdicts
            else "The search left no chunk to validate",
            "validation.enabled=false" if verdicts else "retrieval.min_word_count=0",
        )
    return ValidatedChunks(validator=validator, chunks=tuple(kept), verdicts=tuple(verdicts), reasks=tuple(reasks))
