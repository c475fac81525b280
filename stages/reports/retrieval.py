"""Builds the report of a run of queries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from schemas.statuses import JobStatus
from schemas.values.measures import RetrievalMeasures
from schemas.values.prices import Prices
from schemas.values.query_runs import QueryRun, RankedQuery
from schemas.values.reports import StageTimings
from schemas.values.retrieval_reports import (
    QueryCounts,
    QueryQuality,
    RankingStage,
    RetrievalProvenance,
    RetrievalReport,
    RetrievalTimings,
    StageQuality,
)
from stages.metrics.query_means import mean_intervals
from stages.metrics.retrieval import measure_names, measure_rankings
from stages.reports.costs import run_cost, work_of
from stages.reports.rankings import document_rankings
from stages.reports.run_metadata import run_metadata
from stages.reports.telemetry import telemetry
from stages.reports.validator_quality import validator_quality

FAILED = (JobStatus.FAILED, JobStatus.POISONED)


class JudgedQuery(NamedTuple):
    """A query with a relevant judgement, and the rankings of its job."""

    query: RankedQuery
    rankings: dict[RankingStage, tuple[str, ...]] | None
    """None if chunks of them are deleted."""


def judged_queries(run: QueryRun) -> tuple[JudgedQuery, ...]:
    """The queries that can be measured, in the order of the run."""
    return tuple(
        JudgedQuery(query, document_rankings(query, run.documents)) for query in run.queries if is_judged(query)
    )


def is_judged(query: RankedQuery) -> bool:
    """Whether anything is judged relevant to the query."""
    return any(relevance > 0 for relevance in query.judgements.values())


def build_retrieval_report(
    run: QueryRun, *, measures: RetrievalMeasures, prices: Prices | None = None
) -> RetrievalReport:
    """The report of a run of queries. Without judgements it has only counts, names and times."""
    judged = judged_queries(run)
    qualities = measured(judged, cutoff=measures.cutoff)
    return RetrievalReport(
        run_metadata=run_metadata("query", run),
        settings=run.settings,
        measures=measures,
        provenance=_provenance(run.queries),
        counts=_counts(run, judged),
        stages=tuple(_stage_qualities(judged, qualities, measures)),
        validator=validator_quality([found.query for found in judged], run.documents, measures=measures),
        queries=tuple(
            QueryQuality(
                query=found.query.key,
                job=f"j{found.query.job_id}",
                status=found.query.status,
                relevant=sum(relevance > 0 for relevance in found.query.judgements.values()),
                stages=qualities[found.query.key],
            )
            for found in judged
        ),
        failures=run.failures,
        telemetry=telemetry(run.telemetry, kind="query"),
        timings=_timings(run, prices),
    )


def measured(judged: Sequence[JudgedQuery], *, cutoff: int) -> dict[str, dict[RankingStage, dict[str, float]]]:
    """The measures of every ranking, by query and stage."""
    relevance = {found.query.key: found.query.judgements for found in judged}
    qualities: dict[str, dict[RankingStage, dict[str, float]]] = {found.query.key: {} for found in judged}
    for stage in RankingStage:
        rankings = {
            found.query.key: found.rankings[stage] for found in judged if found.rankings and stage in found.rankings
        }
        if rankings:
            for key, values in measure_rankings(rankings, relevance, cutoff=cutoff).items():
                qualities[key][stage] = values
    return qualities


def _stage_qualities(
    judged: Sequence[JudgedQuery],
    qualities: Mapping[str, Mapping[RankingStage, Mapping[str, float]]],
    measures: RetrievalMeasures,
) -> Iterable[StageQuality]:
    names = measure_names(measures.cutoff)
    for stage in RankingStage:
        rows = [[found[stage][name] for name in names] for found in qualities.values() if stage in found]
        if not rows:
            continue
        lengths = [len(found.rankings[stage]) for found in judged if found.rankings and stage in found.rankings]
        means = mean_intervals(
            rows, columns=len(names), resamples=measures.bootstrap_resamples, seed=measures.bootstrap_seed
        )
        yield StageQuality(
            stage=stage,
            queries=len(rows),
            missing=len(judged) - len(rows),
            mean_documents=sum(lengths) / len(lengths),
            measures=dict(zip(names, means, strict=True)),
        )


def _provenance(queries: Iterable[RankedQuery]) -> RetrievalProvenance:
    queries = tuple(queries)
    retrieved = [query.retrieved for query in queries if query.retrieved is not None]
    return RetrievalProvenance(
        corpora=_distinct(query.corpus for query in queries),
        embedding_models=_distinct(query.embedding_model for query in queries),
        lexical=_distinct(found.lexical for found in retrieved),
        fusions=_distinct(found.fusion for found in retrieved),
        rankers=_distinct(query.ranker for query in queries),
        validators=_distinct(query.validator for query in queries),
    )


def _counts(run: QueryRun, judged: Sequence[JudgedQuery]) -> QueryCounts:
    with_judgement = sum(bool(query.judgements) for query in run.queries)
    failed = sum(found.query.status in FAILED for found in judged)
    finished = sum(found.query.status is JobStatus.SUCCEEDED for found in judged)
    return QueryCounts(
        submitted=len(run.queries),
        without_judgement=len(run.queries) - with_judgement,
        without_relevant=with_judgement - len(judged),
        judged=len(judged),
        failed=failed,
        unfinished=len(judged) - failed - finished,
        chunks_gone=sum(found.rankings is None for found in judged),
        unknown_documents=run.unknown_documents,
    )


def _timings(run: QueryRun, prices: Prices | None) -> RetrievalTimings:
    seconds: dict[str, list[float]] = {}
    for attempt in run.attempts:
        if attempt.ended_at is not None:
            seconds.setdefault(attempt.stage, []).append((attempt.ended_at - attempt.started_at).total_seconds())
    return RetrievalTimings(
        submitted_at=run.submitted_at,
        started_at=min((attempt.started_at for attempt in run.attempts), default=None),
        finished_at=max((attempt.ended_at for attempt in run.attempts if attempt.ended_at is not None), default=None),
        stages={stage: StageTimings(attempts=len(found), seconds=sum(found)) for stage, found in seconds.items()},
        seconds_per_query={stage: sum(found) / len(found) for stage, found in seconds.items()},
        cost=run_cost(work_of(run.attempts), run.stage_calls, run.retried, run.copied, prices),
    )


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name is not None}))
