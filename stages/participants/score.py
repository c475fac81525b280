"""Stage `score`: a language model scores the eight items, and is asked again if its reply cannot be used.

With consistency on, several samples are asked for: the most frequent answers count, and their agreement (Spec 050).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean, pstdev

from schemas.errors import FailureCategory, LLMResponseParseError
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall
from schemas.values.participants import AssembledPrompt, EmbeddedEvidence, ExtractedEvidence, Neighbour, PHQ8Item
from schemas.values.scoring import Consistency, ItemScore, NAReason, ParticipantScores, ScoreBasis
from stages.participants.embed import evidence_text
from stages.participants.retrieve import refuse_leaks
from stages.participants.score_reply import (
    evidence_json_schema,
    median_score,
    parse_scores,
    rounded,
    score_json_schema,
    totals_of,
)
from stages.ports import ChatModel, EvidenceSearch, Vectors
from stages.replies.asking import UsableReply, ask_until_usable
from stages.replies.parsing import ParsedReply

TOP_LOGPROBS = 5
"""The number of likeliest tokens for token signals (Spec 051)."""

_AGREED = 0.5
"""The least share of samples with the modal score for a record of it to be used."""


async def score_participant(
    prompt: AssembledPrompt,
    *,
    extracted: ExtractedEvidence,
    chat: ChatModel,
    settings: RunSettings,
    passages: Mapping[PHQ8Item, str] | None,
) -> ParticipantScores:
    """The scores of one participant, by one reply or by several samples. `passages` are those that the prompt shows.
    Raises as `ask_until_usable` does, but after re-asks LLMResponseParseError alone."""
    call = scoring_call(prompt, settings, passages)
    failed = 0
    agreement: dict[PHQ8Item, Consistency] = {}
    if settings.consistency.enabled:
        usable, failed = await _samples(call, chat=chat, settings=settings)
        agreement = {item: consistency_of([sample.read.value[item].score for sample in usable]) for item in PHQ8Item}
    else:
        usable = [await _ask(call, chat=chat, settings=settings)]
    items = {}
    for item in PHQ8Item:
        sample = usable[chosen_sample(agreement[item]) if agreement else 0]
        signals = {"tokens": sample.reply.tokens, "consistency": agreement.get(item)}
        score = sample.read.value[item].model_copy(update=signals)
        items[item] = recorded(item, score, prompt=prompt, extracted=extracted, settings=settings)
    return ParticipantScores(
        model=call.model,
        model_digest=usable[0].reply.digest,
        items=items,
        totals=totals_of(item.score for item in items.values()),
        reasks=tuple(reason for sample in usable for reason in sample.reasks),
        repairs=tuple(repair for sample in usable for repair in sample.read.repairs),
        failed_samples=failed,
    )


def scoring_call(prompt: AssembledPrompt, settings: RunSettings, passages: Mapping[PHQ8Item, str] | None) -> ChatCall:
    """The call that scores a participant; the server enforces a schema where that is set."""
    most = settings.ragq.score_text_chars or None
    if not settings.ragq.score_schema:
        schema = None
    elif passages is None:
        schema = score_json_schema(settings.quantitative.severity_inference_mode, max_text_chars=most)
    else:
        schema = evidence_json_schema(passages, max_text_chars=most)
    return ChatCall(
        model=settings.model.quantitative_model,
        messages=prompt.messages,
        temperature=settings.model.temperature,
        json_schema=schema,
        top_logprobs=TOP_LOGPROBS if settings.ragq.token_signals else 0,
        timeout_s=settings.score_timeout_s,
        purpose="score",
    )


_Scores = ParsedReply[dict[PHQ8Item, ItemScore]]


async def _ask(call: ChatCall, *, chat: ChatModel, settings: RunSettings) -> UsableReply[_Scores]:
    retries = settings.pydantic_ai.retries
    try:
        return await ask_until_usable(
            call,
            chat=chat,
            read=lambda text: parse_scores(text, severity_mode=settings.quantitative.severity_inference_mode),
            form="one JSON object with all eight keys, inside <answer> tags",
            retries=retries,
        )
    except LLMResponseParseError as error:
        if not retries:
            raise
        exhausted = LLMResponseParseError(
            error.raw_response,
            f"{error.calls - 1} retries did not help; the last time {error.parse_error}",
            FailureCategory.SCORING_RETRY_EXHAUSTED,
        )
        exhausted.calls = error.calls
        raise exhausted from error


async def _samples(call: ChatCall, *, chat: ChatModel, settings: RunSettings) -> tuple[list[UsableReply[_Scores]], int]:
    """The usable samples at the temperature of consistency, and how many could not be used. Each attempt has its own
    sample number and its own re-asks, and there are at most two for each sample. Without any usable one the last error
    is raised."""
    samples = settings.consistency.n_samples
    usable: list[UsableReply[_Scores]] = []
    failed: list[LLMResponseParseError] = []
    for number in range(2 * samples):
        purpose = f"score sample {number + 1}" if number else call.purpose
        changes = {"temperature": settings.consistency.temperature, "sample": number, "purpose": purpose}
        try:
            usable.append(await _ask(call.model_copy(update=changes), chat=chat, settings=settings))
        except LLMResponseParseError as error:
            failed.append(error)
        if len(usable) == samples:
            break
    if not usable:
        failed[-1].calls = sum(error.calls for error in failed)
        raise failed[-1]
    return usable, len(failed)


def recorded(
    item: PHQ8Item, score: ItemScore, *, prompt: AssembledPrompt, extracted: ExtractedEvidence, settings: RunSettings
) -> ItemScore:
    """The record of one item: its score with the signals of its evidence and of its references."""
    quotes = extracted.quotes.get(item, ())
    na_reason = NAReason.SCORE_NA_WITH_EVIDENCE if quotes else NAReason.NO_MENTION
    return score.model_copy(
        update={
            "na_reason": na_reason if score.score is None and settings.quantitative.track_na_reasons else None,
            "evidence_source": extracted.extractor if quotes else None,
            "evidence_count": len(quotes),
            "retrieval": prompt.statistics[item],
        }
    )


def consistency_of(samples: Sequence[int | None]) -> Consistency:
    """The agreement of the samples of one item. Of equally frequent scores N/A is the modal one, else the smallest.

    >>> found = consistency_of([2, 1, None, 2, 1])
    >>> found.modal_score, found.modal_confidence, found.na_rate
    (1, 0.4, 0.2)
    """
    counts = Counter(samples)
    modal = min(counts, key=lambda score: (-counts[score], -1 if score is None else score))
    numbers = [score for score in samples if score is not None]
    return Consistency(
        samples=tuple(samples),
        modal_score=modal,
        modal_count=counts[modal],
        modal_confidence=counts[modal] / len(samples),
        score_std=pstdev(numbers) if len(numbers) > 1 else 0.0,
        na_rate=counts[None] / len(samples),
    )


def chosen_sample(consistency: Consistency) -> int:
    """The sample for an item's record: the first with the modal score, if half of them have it, else the first."""
    if consistency.modal_confidence < _AGREED:
        return 0
    return consistency.samples.index(consistency.modal_score)


SCORER = "neighbours"
"""The name of this scorer where that of a language model would be."""


async def score_by_neighbours(
    embedded: EmbeddedEvidence,
    vectors: Vectors,
    *,
    extracted: ExtractedEvidence,
    prompt: AssembledPrompt,
    search: EvidenceSearch,
    index_id: int,
    left_out: Collection[int],
    settings: RunSettings,
) -> ParticipantScores:
    """For each item the mean of the scores of the participants of the index with the nearest evidence, weighted by
    similarity and rounded.

    An item without evidence, or for which nobody of the index has any, has the median of the scores of the index, and
    its basis says so; one for which nobody of the index has a score is N/A. `consistency` has the scores that a score
    comes from, whose spread is its confidence. `left_out` are those whom `never_used` names; DomainError is raised when
    one of them is found nevertheless.
    """
    queries = list(zip(embedded.items, vectors, strict=True))
    nearest = await search.nearest_evidence(
        index_id, queries, limit=settings.ragq.neighbours, exclude_participants=left_out
    )
    refuse_leaks((one.participant_id for of_item in nearest for one in of_item), left_out, index_id)
    found = dict(zip(embedded.items, nearest, strict=True))
    everybody = await search.item_scores(index_id, exclude_participants=left_out)
    items = {}
    for item in PHQ8Item:
        scored = _by_mean(found[item]) if found.get(item) else _by_median(everybody[item])
        said = scored.model_copy(update={"evidence": evidence_text(extracted.quotes.get(item, ()))})
        items[item] = recorded(item, said, prompt=prompt, extracted=extracted, settings=settings)
    return ParticipantScores(
        model=SCORER,
        model_digest=embedded.model_digest,
        items=items,
        totals=totals_of(item.score for item in items.values()),
    )


def _by_mean(found: Collection[Neighbour]) -> ItemScore:
    # A weight of 0 for all, where all are opposite, would leave no mean.
    mean = fmean([one.score for one in found], weights=[max(one.similarity, 1e-9) for one in found])
    named = ", ".join(f"{one.participant_id} ({one.score}, {one.similarity:.2f})" for one in found)
    return ItemScore(
        score=rounded(mean),
        reason=f"Mean {mean:.2f} of the nearest evidence: participant (score, similarity) {named}.",
        basis=ScoreBasis.NEIGHBOURS,
        consistency=consistency_of([one.score for one in found]),
    )


def _by_median(scores: Collection[int]) -> ItemScore:
    if not scores:
        return ItemScore(reason="Nobody of the reference index has a score for the item.")
    return ItemScore(
        score=median_score(scores),
        reason=f"No evidence to compare: the median of {len(scores)} participants of the reference index.",
        basis=ScoreBasis.MEDIAN,
        consistency=consistency_of(sorted(scores)),
    )
