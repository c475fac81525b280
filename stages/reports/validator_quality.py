"""The quality of a validator: whether it accepts relevant chunks."""

from collections import Counter
from collections.abc import Mapping, Sequence

from schemas.values.measures import RetrievalMeasures
from schemas.values.query_runs import RankedQuery
from schemas.values.retrieval_reports import ValidatorQuality
from schemas.values.verdicts import Decision
from stages.metrics.query_means import share_interval


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
