"""The report of a run of queries: its numbers, and for readers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from schemas.statuses import JobStatus
from schemas.values.costs import Prices
from schemas.values.differences import RetrievalMeasures
from schemas.values.participants import Decision
from schemas.values.queries import QueryRun, QueryText, RankedQuery
from schemas.values.reports import QueryQuality, RankingStage, RetrievalReport, StageQuality, ValidatorQuality
from stages.metrics.bootstrap import mean_intervals, share_interval
from stages.metrics.selective import measure_names, measure_rankings
from stages.reports.costs import cost_words, run_timings, telemetry
from stages.reports.report import distinct, failure_tables, run_metadata, telemetry_tables
from stages.reports.tables import Figure, Remark, Sheet, Table
from stages.reports.words import counts_in_words, origin_words


def remarks(counts: Mapping[str, int]) -> Iterator[str]:
    """Which queries count, and which do not."""
    judged = f"{counts['judged']} of {counts['submitted']} queries are judged"
    yield f"{judged}: {counts['failed']} of these failed, {counts['unfinished']} are unfinished."
    left_out = {
        "without a judgement": counts["without_judgement"],
        "without a relevant document": counts["without_relevant"],
        "with chunks that are stored no more": counts["chunks_gone"],
    }
    if reasons := counts_in_words(left_out):
        yield f"In no mean: {reasons}."
    if unknown := counts["unknown_documents"]:
        yield f"Relevant documents that the corpus does not have, missed in every recall: {unknown}."


def validator_quality(
    judged: Sequence[RankedQuery], documents: Mapping[int, str], *, measures: RetrievalMeasures
) -> ValidatorQuality | None:
    """Precision and recall of `accept` over the verdicts of these queries; None without verdicts. Queries with a
    deleted chunk are excluded, as in the rankings."""
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
    return ValidatorQuality(
        queries=len(counts),
        asked=sum(total[decision] for decision in Decision),
        accepted=total[Decision.ACCEPT],
        rejected=total[Decision.REJECT],
        unsure=total[Decision.UNSURE],
        relevant=total["relevant"],
        precision=share_interval(hits, accepted, measures),
        recall=share_interval(hits, relevant, measures),
    )


def _counted(query: RankedQuery, documents: Mapping[int, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for verdict in query.verdicts or ():
        is_relevant = query.judgements.get(documents[verdict.chunk_id], 0) > 0
        counts[verdict.decision] += 1
        counts["relevant"] += is_relevant
        counts["hit"] += is_relevant and verdict.decision is Decision.ACCEPT
    return counts


def validator_in_words(found: ValidatorQuality) -> str:
    """Precision and recall of accept, and over what."""
    return (
        f"Validator against the judgements: precision of accept {Figure(found.precision)}, recall "
        f"{Figure(found.recall)}; {found.accepted} accepted, {found.rejected} rejected, {found.unsure} unsure of "
        f"{found.asked} chunks of {found.queries} queries, {found.relevant} of them relevant. "
        "What is not judged counts as not relevant."
    )


Rankings = dict[RankingStage, tuple[str, ...]]
"""The documents of each ranking, best first."""


def document_rankings(query: RankedQuery, documents: Mapping[int, str]) -> Rankings | None:
    """Every ranking that the query's job stored, in the order of the stages; None if one of their chunks is deleted. A
    document has the rank of its best chunk."""
    rankings = dict(chunk_rankings(query))
    if any(chunk_id not in documents for ranking in rankings.values() for chunk_id in ranking):
        return None
    return {
        stage: tuple(dict.fromkeys(documents[chunk_id] for chunk_id in ranking)) for stage, ranking in rankings.items()
    }


def chunk_rankings(query: RankedQuery) -> Iterator[tuple[RankingStage, Sequence[int]]]:
    """The chunks of every ranking that the query's job stored, best first."""
    if query.retrieved is not None:
        for found in query.retrieved.lists:
            if found.text is QueryText.ORIGINAL:
                yield RankingStage(found.leg), [chunk_id for chunk_id, _ in found.hits]
        yield RankingStage.FUSED, [chunk_id for chunk_id, _ in query.retrieved.fused]
    if query.ranking is not None:
        yield RankingStage.RERANKED, query.ranking
    if query.selected is not None:
        yield RankingStage.SELECTED, query.selected
    if query.groups is not None:
        yield RankingStage.CONSOLIDATED, [chunk_id for group in query.groups for chunk_id in group]


def judged_queries(run: QueryRun) -> list[tuple[RankedQuery, Rankings | None]]:
    """The queries that can be measured, in the order of the run, with their `document_rankings`."""
    return [(query, document_rankings(query, run.documents)) for query in run.queries if is_judged(query)]


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
        validator=validator_quality([query for query, _ in judged], run.documents, measures=measures),
        queries=tuple(
            QueryQuality(
                query=query.key,
                job=f"j{query.job_id}",
                status=query.status,
                relevant=sum(relevance > 0 for relevance in query.judgements.values()),
                stages=qualities[query.key],
            )
            for query, _ in judged
        ),
        failures=run.failures,
        telemetry=telemetry(run.telemetry, kind="query"),
        timings=run_timings(run, prices),
    )


def measured(
    judged: Sequence[tuple[RankedQuery, Rankings | None]], *, cutoff: int
) -> dict[str, dict[RankingStage, dict[str, float]]]:
    """The measures of every ranking, by query and stage."""
    relevance = {query.key: query.judgements for query, _ in judged}
    qualities: dict[str, dict[RankingStage, dict[str, float]]] = {key: {} for key in relevance}
    for stage in RankingStage:
        rankings = {query.key: found[stage] for query, found in judged if found and stage in found}
        if rankings:
            for key, values in measure_rankings(rankings, relevance, cutoff=cutoff).items():
                qualities[key][stage] = values
    return qualities


def _stage_qualities(
    judged: Sequence[tuple[RankedQuery, Rankings | None]],
    qualities: Mapping[str, Mapping[RankingStage, Mapping[str, float]]],
    measures: RetrievalMeasures,
) -> Iterator[StageQuality]:
    names = measure_names(measures.cutoff)
    for stage in RankingStage:
        rows = [[found[stage][name] for name in names] for found in qualities.values() if stage in found]
        if not rows:
            continue
        lengths = [len(found[stage]) for _, found in judged if found and stage in found]
        means = mean_intervals(rows, measures, columns=len(names))
        yield StageQuality(
            stage=stage,
            queries=len(rows),
            missing=len(judged) - len(rows),
            mean_documents=sum(lengths) / len(lengths),
            measures=dict(zip(names, means, strict=True)),
        )


def _provenance(queries: Sequence[RankedQuery]) -> dict[str, tuple[str, ...]]:
    retrieved = [query.retrieved for query in queries if query.retrieved is not None]
    return {
        "corpus": distinct(query.corpus for query in queries),
        "embedder": distinct(query.embedding_model for query in queries),
        "lexical": distinct(found.lexical for found in retrieved),
        "fusion": distinct(found.fusion for found in retrieved),
        "ranker": distinct(query.ranker for query in queries),
        "validator": distinct(query.validator for query in queries),
    }


def _counts(run: QueryRun, judged: Sequence[tuple[RankedQuery, Rankings | None]]) -> dict[str, int]:
    with_judgement = sum(bool(query.judgements) for query in run.queries)
    failed = sum(query.status.has_failed for query, _ in judged)
    finished = sum(query.status is JobStatus.SUCCEEDED for query, _ in judged)
    return {
        "submitted": len(run.queries),
        "without_judgement": len(run.queries) - with_judgement,
        "without_relevant": with_judgement - len(judged),
        "judged": len(judged),
        "failed": failed,
        "unfinished": len(judged) - failed - finished,
        "chunks_gone": sum(found is None for _, found in judged),
        "unknown_documents": run.unknown_documents,
    }


def retrieval_sheet(report: RetrievalReport) -> Sheet:
    """The quality of every ranking, that of the validator, time, and what went wrong. No word of a query."""
    run, measures = report.run_metadata, report.measures
    names = measure_names(measures.cutoff)
    made_with = ", ".join(f"{what} {', '.join(found)}" for what, found in report.provenance.items() if found)
    rankings = Table(
        "Rankings",
        ("ranking", "queries", "missing", "documents", *names),
        tuple(
            (
                *(one.stage.value, one.queries, one.missing, Figure(one.mean_documents, 1)),
                *(Figure(one.measures[name], 4) for name in names),
            )
            for one in report.stages
        ),
        is_for_papers=True,
    )
    times = Table(
        "Time",
        ("stage", "attempts", "seconds per query", "seconds in all"),
        tuple(
            (stage, one.attempts, Figure(one.seconds / one.attempts if one.attempts else None), Figure(one.seconds, 1))
            for stage, one in report.timings.cost.stages.items()
        ),
    )
    nothing = "No query is judged and has a ranking: there is nothing to measure."
    validator = [] if report.validator is None else [validator_in_words(report.validator)]
    return Sheet(
        title=run.run_id,
        head=f"{made_with}, ragq {run.ragq_version}",
        facts=(
            f"means over judged queries, 95 % intervals over {measures.bootstrap_resamples} resamples of queries "
            f"(seed {measures.bootstrap_seed})",
        ),
        notices=run.notices,
        parts=(
            *([rankings] if report.stages else [Remark(nothing)]),
            *(Remark(words, is_notice=False) for words in (*remarks(report.counts), *validator)),
            times,
            *telemetry_tables({"answer": report.telemetry}),
            *failure_tables(report.failures),
        ),
        cost=tuple(cost_words(report.timings.cost)),
        origin=tuple(origin_words(run.origin)),
    )
