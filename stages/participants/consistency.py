"""Stage `score` by several samples: the most frequent answers, and their agreement (Spec 050)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import pstdev

from schemas.errors import LLMResponseParseError
from schemas.values.participants import AssembledPrompt, ExtractedEvidence, PHQ8Item
from schemas.values.scoring import Consistency, ParticipantScores
from stages.participants.score import ScoringPlan, ask_for_scores, item_score, scoring_call
from stages.participants.score_reply import ParsedScores, totals_of
from stages.ports import ChatModel
from stages.replies.asking import UsableReply

_AGREED = 0.5
"""The least share of samples with the modal score for a record of it to be used."""


async def score_by_consistency(
    prompt: AssembledPrompt,
    *,
    extracted: ExtractedEvidence,
    chat: ChatModel,
    plan: ScoringPlan,
    samples: int,
    temperature: float,
) -> ParticipantScores:
    """The scores of one participant by `samples` replies at `temperature`, whatever the plan's own temperature.

    Each attempt has its own sample number and its own re-asks. At most 2 x `samples` attempts are made; those whose
    replies cannot be used are counted, and the scores use the remaining samples. Without any, the last error is raised.
    Errors of the model's client are raised unchanged: the samples before are in the ledger.
    """
    plan = replace(plan, temperature=temperature)
    usable: list[UsableReply[ParsedScores]] = []
    failed: list[LLMResponseParseError] = []
    while len(usable) < samples and len(usable) + len(failed) < 2 * samples:
        call = scoring_call(prompt, plan=plan, sample=len(usable) + len(failed))
        try:
            usable.append(await ask_for_scores(call, chat=chat, plan=plan))
        except LLMResponseParseError as error:
            failed.append(error)
    if not usable:
        failed[-1].calls = sum(error.calls for error in failed)
        raise failed[-1]
    agreement = {item: consistency_of([sample.read.answers[item].score for sample in usable]) for item in PHQ8Item}
    chosen = {item: usable[chosen_sample(agreement[item])] for item in PHQ8Item}
    items = {
        item: item_score(
            item,
            sample.read.answers[item],
            prompt=prompt,
            extracted=extracted,
            plan=plan,
            reply=sample.reply,
            consistency=agreement,
        )
        for item, sample in chosen.items()
    }
    return ParticipantScores(
        model=plan.model,
        model_digest=usable[0].reply.digest,
        items=items,
        totals=totals_of(item.score for item in items.values()),
        reasks=tuple(reason for sample in usable for reason in sample.reasks),
        repairs=tuple(repair for sample in usable for repair in sample.read.repairs),
        failed_samples=len(failed),
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
    """The index of the sample for an item's record: the first with the modal score, if half of them have it.

    If fewer agree, it is the first sample, whose score may differ.
    """
    if consistency.modal_confidence < _AGREED:
        return 0
    return consistency.samples.index(consistency.modal_score)
