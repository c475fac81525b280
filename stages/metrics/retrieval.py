"""Measures of rankings of documents, per query."""

from collections.abc import Mapping, Sequence

import ir_measures
from ir_measures import RR, P, R, nDCG

WHOLE = 1000
"""More documents than any ranking of ragq has."""


def measure_names(cutoff: int) -> tuple[str, ...]:
    """The measures of `measure_rankings`, in their order.

    >>> measure_names(10)
    ('ndcg@10', 'recall@10', 'mrr@10', 'p@10', 'recall')
    """
    return (f"ndcg@{cutoff}", f"recall@{cutoff}", f"mrr@{cutoff}", f"p@{cutoff}", "recall")


def measure_rankings(
    rankings: Mapping[str, Sequence[str]], relevance: Mapping[str, Mapping[str, int]], *, cutoff: int
) -> dict[str, dict[str, float]]:
    """Every measure of every ranking, by query. An empty ranking has 0 in all.

    Computed by trec_eval through ir-measures: nDCG with the relevance itself as gain, and recall at the cutoff and over
    the whole ranking. Each query needs a relevant document; documents without a judgement are not relevant.
    """
    asked = (nDCG @ cutoff, R @ cutoff, RR @ cutoff, P @ cutoff, R @ WHOLE)
    names = dict(zip(asked, measure_names(cutoff), strict=True))
    judged = {
        query: {document: max(0, relevance[query][document]) for document in relevance[query]} for query in rankings
    }
    # Descending scores without ties: trec_eval orders by score, and would order ties by name.
    scored = {
        query: {document: float(-rank) for rank, document in enumerate(documents)}
        for query, documents in rankings.items()
    }
    found: dict[str, dict[str, float]] = {query: {} for query in rankings}
    for metric in ir_measures.iter_calc(asked, judged, scored):
        found[metric.query_id][names[metric.measure]] = metric.value
    return {query: {name: measures[name] for name in names.values()} for query, measures in found.items()}
