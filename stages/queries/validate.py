"""Stage `validate`: whether the corpus answers the question, and a language model's verdict on each chunk (CRAG)."""

from collections.abc import Sequence

from schemas.errors import NothingRelevantError
from schemas.values.chat import ChatCall, Message, ReaskReason
from schemas.values.participants import Decision, Verdict
from schemas.values.queries import RerankedChunk, ValidatedChunks
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.replies.asking import ask_until_usable
from stages.replies.verdicts import VERDICT_JSON_SCHEMA, decide, verdict_reader
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
    model: str,
    timeout_s: float,
    max_chunks: int | None,
    max_chars: int | None,
    max_tokens: int,
    retries: int,
    allow_empty: bool,
) -> ValidatedChunks:
    """Ask about the chunks in order, until `max_chunks` are accepted; keep only those.

    `unsure` excludes a chunk as `reject` does. The model sees `max_chars` characters of each; None shows all. A reply
    that is not exactly one verdict is asked for again, up to `retries` times. Raises LLMResponseParseError after the
    last re-ask, NothingRelevantError when no chunk is accepted or there is none, unless `allow_empty`, Deferred as
    `decide` does, and the errors of the model's client unchanged.
    """
    reasks: list[ReaskReason] = []

    async def ask(rank: int, chunk: RerankedChunk) -> Decision:
        call = verdict_call(
            query,
            chunk,
            rank,
            template=template,
            model=model,
            timeout_s=timeout_s,
            max_chars=max_chars,
            max_tokens=max_tokens,
        )
        usable = await ask_until_usable(call, chat=chat, reader=verdict_reader(retries=retries))
        reasks.extend(usable.reasks)
        return usable.read

    accepted, verdicts = await decide(chunks, ask=ask, enough=max_chunks)
    return _validated(model, accepted, verdicts, reasks, allow_empty=allow_empty)


def verdict_call(
    query: str,
    chunk: RerankedChunk,
    rank: int,
    *,
    template: str,
    model: str,
    timeout_s: float,
    max_chars: int | None,
    max_tokens: int,
) -> ChatCall:
    """The first call about one chunk, always at temperature 0.

    It shows the chunk's headings and the text that was ranked.
    """
    passage = "\n\n".join(part for part in (chunk.heading_breadcrumbs, chunk.enriched_content) if part)
    values = {"query": fenced("question", query), "chunk": fenced("passage", passage, max_chars=max_chars)}
    return ChatCall(
        model=model,
        messages=(Message(role="system", content=_SYSTEM), Message(role="user", content=render(template, values))),
        json_mode=True,
        json_schema=dict(VERDICT_JSON_SCHEMA),
        max_tokens=max_tokens,
        timeout_s=timeout_s,
        purpose=f"validate rank {rank}",
    )


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
