"""Stage `validate`: a language model accepts or rejects each reference (CRAG; Specs 36 and 38), or similarity does."""

from collections.abc import Mapping

from schemas.values.chat import ChatCall, Message, ReaskReason
from schemas.values.participants import (
    Decision,
    ExtractedEvidence,
    PHQ8Item,
    RankedReferences,
    Reference,
    ValidatedReferences,
)
from stages.participants.assemble import text_of
from stages.participants.chunking import tag_chunk
from stages.participants.embed import evidence_text
from stages.participants.score_prompt import MEANINGS, score_list
from stages.ports import ChatModel, Deferred
from stages.replies.asking import ask_until_usable
from stages.replies.verdicts import VERDICT_JSON_SCHEMA, Decided, decide, verdict_reader
from stages.texts.characters import DATA_RULE, fenced

_SYSTEM = f"""\
You check examples before a rater of interviews gets to see them. You answer with one JSON object, \
{{"decision": "accept"}}, {{"decision": "reject"}} or {{"decision": "unsure"}}, and with nothing else. {DATA_RULE}"""

_TASK = f"""\
The evidence was said by the person who is to be rated. The reference was said by somebody else, whose score for the \
symptom is known:

{score_list()}
N/A = not known

Should the rater see the reference as an example for this symptom? Whether its score is right is not asked.

accept: it speaks of what the evidence speaks of, and is a good example of the symptom.
reject: it has nothing to do with the symptom or the evidence, or it contradicts the evidence.
unsure: it cannot be told."""


def verdict_messages(
    item: PHQ8Item, *, evidence: str, reference: str, score: int | None, max_chars: int | None
) -> tuple[Message, ...]:
    """The messages about one reference. Each passage is cut at `max_chars` characters; None shows all."""
    user = "\n\n".join(
        [
            f"Symptom: {item.value}, {MEANINGS[item]}\nScore of the reference: {'N/A' if score is None else score}",
            fenced("evidence", evidence, max_chars=max_chars),
            fenced("reference", reference, max_chars=max_chars),
            _TASK,
        ]
    )
    return Message(role="system", content=_SYSTEM), Message(role="user", content=user)


Judged = Decided[Reference]
"""The accepted references of one item, and all verdicts."""


def keep_all(ranked: RankedReferences) -> ValidatedReferences:
    """Validation disabled: every ranked reference is kept, whatever the cap, without a call."""
    return ValidatedReferences(validator=None, items=ranked.items, verdicts={})


async def validate_by_similarity(
    ranked: RankedReferences, *, chunk_texts: Mapping[int, str], min_similarity: float, max_refs: int
) -> ValidatedReferences:
    """Accept the references of at least `min_similarity` that mention the item, until `max_refs` are accepted.

    Raises InputChangedError when the text of a chunk differs from the one that was ranked.
    """

    async def judge_item(item: PHQ8Item, references: tuple[Reference, ...]) -> Judged:
        async def ask(rank: int, reference: Reference) -> Decision:
            is_about_it = item.evidence_key in tag_chunk(text_of(reference, chunk_texts))
            return Decision.ACCEPT if is_about_it and reference.similarity >= min_similarity else Decision.REJECT

        return await decide(references, ask=ask, enough=max_refs)

    return _validated("similarity", ranked, {item: await judge_item(item, of_item) for item, of_item in _some(ranked)})


async def validate_references(
    ranked: RankedReferences,
    *,
    extracted: ExtractedEvidence,
    chunk_texts: Mapping[int, str],
    chat: ChatModel,
    model: str,
    timeout_s: float,
    max_refs: int,
    max_chars: int | None,
    max_tokens: int,
    retries: int,
) -> ValidatedReferences:
    """Judge each item's references in order, until `max_refs` are accepted; keep only those.

    `unsure` excludes a reference as `reject` does. The model sees at most `max_chars` characters of each passage. A
    reply that is not exactly one verdict is asked for again, up to `retries` times.

    Raises LLMResponseParseError after the last re-ask, InputChangedError when the text of a chunk differs from the one
    that was ranked, and the errors of the model's client unchanged.
    """
    reasks: list[ReaskReason] = []

    async def judge_item(item: PHQ8Item, references: tuple[Reference, ...]) -> Judged:
        evidence = evidence_text(extracted.quotes[item])

        async def ask(rank: int, reference: Reference) -> Decision:
            call = verdict_call(
                item,
                rank,
                model=model,
                evidence=evidence,
                reference=text_of(reference, chunk_texts),
                score=reference.score,
                max_chars=max_chars,
                max_tokens=max_tokens,
                timeout_s=timeout_s,
            )
            usable = await ask_until_usable(call, chat=chat, reader=verdict_reader(retries=retries))
            reasks.extend(usable.reasks)
            return usable.read

        return await decide(references, ask=ask, enough=max_refs)

    judged: dict[PHQ8Item, Judged] = {}
    deferred: Deferred | None = None
    for item, references in _some(ranked):
        try:
            judged[item] = await judge_item(item, references)
        except Deferred as later:
            deferred = later
    if deferred is not None:
        raise deferred
    return _validated(model, ranked, judged).model_copy(update={"reasks": tuple(reasks)})


def _some(ranked: RankedReferences) -> list[tuple[PHQ8Item, tuple[Reference, ...]]]:
    return [(item, references) for item, references in ranked.items.items() if references]


def _validated(validator: str, ranked: RankedReferences, judged: Mapping[PHQ8Item, Judged]) -> ValidatedReferences:
    return ValidatedReferences(
        validator=validator,
        items={item: judged[item][0] if item in judged else () for item in ranked.items},
        verdicts={item: verdicts for item, (_, verdicts) in judged.items()},
    )


def verdict_call(
    item: PHQ8Item,
    rank: int,
    *,
    model: str,
    evidence: str,
    reference: str,
    score: int | None,
    timeout_s: float,
    max_chars: int | None,
    max_tokens: int,
) -> ChatCall:
    """The first call about one reference, always at temperature 0."""
    return ChatCall(
        model=model,
        messages=verdict_messages(item, evidence=evidence, reference=reference, score=score, max_chars=max_chars),
        json_mode=True,
        json_schema=dict(VERDICT_JSON_SCHEMA),
        max_tokens=max_tokens,
        timeout_s=timeout_s,
        purpose=f"validate {item.evidence_key} rank {rank}",
    )
