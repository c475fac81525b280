"""What happened to the references of each item on their way into the prompts, in counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from schemas.values.measures import RetrievalMeasures
from schemas.values.participants import RankedReferences, Reference, ValidatedReferences
from schemas.values.phq8 import PHQ8Item
from schemas.values.query_runs import RankedQuery
from schemas.values.reports import ReferenceCounts
from schemas.values.retrieval_reports import ValidatorQuality
from schemas.values.scoring import ParticipantScores
from schemas.values.verdicts import Decision
from stages.metrics.bootstrap import share_interval
from stages.participants.rerank import FILTERS, TAGS

REJECTED = "rejected"
"""The model that validates did not accept them."""
BEYOND_LIMIT = "validation_limit"
"""Enough references were accepted before them."""
UNSCORED = "unscored"
"""They have no score for the item, so the prompt does not show them."""

CONTEXT = "context"
"""The context of the model that scores had no room for them."""

_IN_ORDER = (*FILTERS, REJECTED, BEYOND_LIMIT, UNSCORED, CONTEXT)

Outputs = tuple[RankedReferences, ValidatedReferences, ParticipantScores | None]
"""What the stages `rerank`, `validate` and `score` of a job stored; None before it is scored."""


def reference_counts(outputs: Iterable[Outputs]) -> dict[PHQ8Item, ReferenceCounts]:
    """The counts of each item over the jobs with these outputs, the same filters for all; none without a job."""
    dropped = {item: Counter[str]() for item in PHQ8Item}
    shown = Counter[PHQ8Item]()
    jobs = 0
    for ranked, validated, scores in outputs:
        jobs += 1
        for item in PHQ8Item:
            dropped[item].update(ranked.dropped.get(item, {}))
            dropped[item].update(_dropped_later(ranked.items[item], validated, item))
            accepted = sum(reference.score is not None for reference in validated.items[item])
            in_prompt = accepted if scores is None else scores.items[item].retrieval.count
            dropped[item][CONTEXT] += accepted - in_prompt
            shown[item] += in_prompt
    others = set().union(*dropped.values()) - {TAGS, *_IN_ORDER}
    names = (*_IN_ORDER, *sorted(others))
    return {
        item: ReferenceCounts(
            untagged=dropped[item][TAGS],
            retrieved=sum(dropped[item][name] for name in names) + shown[item],
            dropped={name: dropped[item][name] for name in names},
            shown=shown[item],
        )
        for item in (PHQ8Item if jobs else ())
    }


def over_all_items(counts: Iterable[ReferenceCounts]) -> ReferenceCounts:
    """The sums of counts that have the same filters."""
    counts = list(counts)
    return ReferenceCounts(
        untagged=sum(found.untagged for found in counts),
        retrieved=sum(found.retrieved for found in counts),
        dropped={name: sum(found.dropped[name] for found in counts) for name in counts[0].dropped},
        shown=sum(found.shown for found in counts),
    )


def _dropped_later(ranked: Sequence[Reference], validated: ValidatedReferences, item: PHQ8Item) -> dict[str, int]:
    kept = validated.items[item]
    rejected = sum(verdict.decision is not Decision.ACCEPT for verdict in validated.verdicts.get(item, ()))
    return {
        REJECTED: rejected,
        BEYOND_LIMIT: len(ranked) - len(kept) - rejected,
        UNSCORED: sum(reference.score is None for reference in kept),
    }


def validator_quality(
    judged: Sequence[RankedQuery], documents: Mapping[int, str], *, measures: RetrievalMeasures
) -> ValidatorQuality | None:
    """Precision and recall of `accept` over the verdicts of these queries; None without verdicts.

    Queries with a deleted chunk are excluded, as in the rankings.
    """
    counts = [
        _counted(query, documents)
        for query in judged
        if query.verdicts and all(verdict.chunk_id in documents for verdict in query.verdicts)
    ]
    if not counts:
        return None
    total = sum(counts, Counter())
    hits, accepted, relevant = (
        [float(count[name]) for count in counts] for name in ("hit", Decision.ACCEPT, "relevant")
    )
    resamples, seed = measures.bootstrap_resamples, measures.bootstrap_seed
    return ValidatorQuality(
        queries=len(counts),
        asked=sum(total[decision] for decision in Decision),
        accepted=total[Decision.ACCEPT],
        rejected=total[Decision.REJECT],
        unsure=total[Decision.UNSURE],
        relevant=total["relevant"],
        precision=share_interval(hits, accepted, resamples=resamples, seed=seed),
        recall=share_interval(hits, relevant, resamples=resamples, seed=seed),
    )


def _counted(query: RankedQuery, documents: Mapping[int, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for verdict in query.verdicts or ():
        is_relevant = query.judgements.get(documents[verdict.chunk_id], 0) > 0
        counts[verdict.decision] += 1
        counts["relevant"] += is_relevant
        counts["hit"] += is_relevant and verdict.decision is Decision.ACCEPT
    return counts
