"""Stage `validate`: a language model accepts or rejects each reference (CRAG; Specs 36 and 38), or similarity does."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from schemas.settings.run import RunSettings
from schemas.values.chat import Message, ReaskReason
from schemas.values.participants import (
    Decision,
    ExtractedEvidence,
    PHQ8Item,
    RankedReferences,
    Reference,
    ValidatedReferences,
    Verdict,
)
from stages.participants.assemble import text_of
from stages.participants.chunking import tag_chunk
from stages.participants.embed import evidence_text
from stages.participants.score_prompt import MEANINGS, score_list
from stages.ports import ChatModel, Deferred
from stages.replies.asking import ask_verdict, decide, messages_of
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
    item: PHQ8Item, *, evidence: str, reference: str, score: int | None, max_chars: int
) -> tuple[Message, ...]:
    """The messages about one reference. Each passage is cut at `max_chars` characters."""
    user = "\n\n".join(
        [
            f"Symptom: {item.value}, {MEANINGS[item]}\nScore of the reference: {'N/A' if score is None else score}",
            fenced("evidence", evidence, max_chars=max_chars),
            fenced("reference", reference, max_chars=max_chars),
            _TASK,
        ]
    )
    return messages_of(_SYSTEM, user)


def keep_all(ranked: RankedReferences) -> ValidatedReferences:
    """Validation disabled: every ranked reference is kept, whatever the cap, without a call."""
    return ValidatedReferences(validator=None, items=ranked.items, verdicts={})


async def validate_by_similarity(
    ranked: RankedReferences, *, chunk_texts: Mapping[int, str], settings: RunSettings
) -> ValidatedReferences:
    """Accept the references of enough similarity that mention the item, until enough are accepted."""

    async def ask(item: PHQ8Item, _rank: int, reference: Reference) -> Decision:
        is_about_it = item.evidence_key in tag_chunk(text_of(reference, chunk_texts))
        is_near = reference.similarity >= settings.ragq.reference_similarity
        return Decision.ACCEPT if is_about_it and is_near else Decision.REJECT

    return await _decided("similarity", ranked, ask, settings)


async def validate_references(
    ranked: RankedReferences,
    *,
    extracted: ExtractedEvidence,
    chunk_texts: Mapping[int, str],
    chat: ChatModel,
    settings: RunSettings,
) -> ValidatedReferences:
    """Judge the references of each item in order, until enough are accepted; `unsure` excludes one as `reject` does.
    Raises DomainError when the text of a chunk differs from the one that was ranked, and as `ask_verdict` does."""
    model = settings.validation_model
    reasks: list[ReaskReason] = []

    async def ask(item: PHQ8Item, rank: int, reference: Reference) -> Decision:
        messages = verdict_messages(
            item,
            evidence=evidence_text(extracted.quotes[item]),
            reference=text_of(reference, chunk_texts),
            score=reference.score,
            max_chars=settings.ragq.validation_max_chars,
        )
        purpose = f"validate {item.evidence_key} rank {rank}"
        usable = await ask_verdict(messages, purpose=purpose, chat=chat, model=model, settings=settings)
        reasks.extend(usable.reasks)
        return usable.read

    return (await _decided(model, ranked, ask, settings)).model_copy(update={"reasks": tuple(reasks)})


async def _decided(
    validator: str,
    ranked: RankedReferences,
    ask: Callable[[PHQ8Item, int, Reference], Awaitable[Decision]],
    settings: RunSettings,
) -> ValidatedReferences:
    """The references that are accepted, item by item. What is deferred is raised when every item was asked about."""
    kept: dict[PHQ8Item, tuple[Reference, ...]] = dict.fromkeys(ranked.items, ())
    verdicts: dict[PHQ8Item, tuple[Verdict, ...]] = {}
    deferred: Deferred | None = None
    for item in (item for item, references in ranked.items.items() if references):
        enough = settings.embedding.validation_max_refs_per_item
        try:
            kept[item], verdicts[item] = await decide(ranked.items[item], ask=partial(ask, item), enough=enough)
        except Deferred as later:
            deferred = later
    if deferred is not None:
        raise deferred
    return ValidatedReferences(validator=validator, items=kept, verdicts=verdicts)
