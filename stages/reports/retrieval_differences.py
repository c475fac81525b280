"""Differences between two runs of queries."""

from collections.abc import Mapping

from schemas.values.measures import RetrievalMeasures
from schemas.values.query_runs import QueryRun, RankedQuery
from schemas.values.retrieval_reports import QueryChange, QueryDelta, RankingStage, RetrievalDifference
from stages.metrics.query_means import mean_intervals
from stages.metrics.retrieval import measure_names
from stages.reports.differences import setting_differences
from stages.reports.retrieval import FAILED, judged_queries, measured

Qualities = Mapping[str, Mapping[RankingStage, Mapping[str, float]]]


def retrieval_difference(left: QueryRun, right: QueryRun, *, measures: RetrievalMeasures) -> RetrievalDifference:
    """Right compared with left, over the queries that both have with equal judgements."""
    sides = [{query.key: query for query in run.queries} for run in (left, right)]
    both = [key for key in sides[0] if key in sides[1]]
    unlike = {key for key in both if sides[0][key].judgements != sides[1][key].judgements}
    before, after = (measured(judged_queries(run), cutoff=measures.cutoff) for run in (left, right))
    keys = [key for key in both if key in before and key in after and key not in unlike]
    deltas = {stage: found for stage in RankingStage if (found := _deltas(keys, before, after, stage, measures))}
    return RetrievalDifference(
        left=f"r{left.run_id}",
        right=f"r{right.run_id}",
        common_queries=len(both),
        deltas=deltas,
        changes=_changes(keys, before, after, list(deltas)[-1], measures) if deltas else (),
        unlike_judgements=len(unlike),
        settings=setting_differences(left.settings, right.settings),
        failed_in_left_only=tuple(key for key in both if _failed_alone(sides[0][key], sides[1][key])),
        failed_in_right_only=tuple(key for key in both if _failed_alone(sides[1][key], sides[0][key])),
        only_in_left=tuple(key for key in sides[0] if key not in sides[1]),
        only_in_right=tuple(key for key in sides[1] if key not in sides[0]),
    )


def _deltas(
    keys: list[str], before: Qualities, after: Qualities, stage: RankingStage, measures: RetrievalMeasures
) -> dict[str, QueryDelta]:
    pairs = [(before[key][stage], after[key][stage]) for key in keys if stage in before[key] and stage in after[key]]
    if not pairs:
        return {}
    names = measure_names(measures.cutoff)
    # The mean of the differences is the difference of the means, in each resample too.
    intervals = mean_intervals(
        [[new[name] - old[name] for name in names] for old, new in pairs],
        columns=len(names),
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    return {
        name: QueryDelta(
            queries=len(pairs),
            left=sum(old[name] for old, _ in pairs) / len(pairs),
            right=sum(new[name] for _, new in pairs) / len(pairs),
            delta=interval,
        )
        for name, interval in zip(names, intervals, strict=True)
    }


def _changes(
    keys: list[str], before: Qualities, after: Qualities, stage: RankingStage, measures: RetrievalMeasures
) -> tuple[QueryChange, ...]:
    ndcg = measure_names(measures.cutoff)[0]
    found = [
        QueryChange(query=key, stage=stage, left=before[key][stage][ndcg], right=after[key][stage][ndcg])
        for key in keys
        if stage in before[key] and stage in after[key] and before[key][stage][ndcg] != after[key][stage][ndcg]
    ]
    return tuple(sorted(found, key=lambda change: (-abs(change.right - change.left), change.query)))


def _failed_alone(one: RankedQuery, other: RankedQuery) -> bool:
    return one.status in FAILED and other.status not in FAILED
