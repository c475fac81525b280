"""The reports of a run of questions, and of an evaluation of its answers, for readers."""

from schemas.values.evaluations import EvaluationReport
from schemas.values.reports import RetrievalReport
from stages.metrics.selective import measure_names
from stages.reports.costs import cost_words
from stages.reports.evaluation import MEASURES, evaluation_remarks
from stages.reports.report_sheet import failure_tables, identity_table, package_tables, settings_table, telemetry_tables
from stages.reports.retrieval import made_with, remarks, validator_in_words
from stages.reports.tables import Figure, Real, Ref, Remark, Sheet, Table
from stages.reports.words import origin_words


def retrieval_sheet(report: RetrievalReport) -> Sheet:
    """The quality of every ranking, that of the validator, time, and what went wrong. No word of a query."""
    run, measures = report.run_metadata, report.measures
    names = tuple(measure_names(measures.cutoff))
    made = ", ".join(f"{what} {name}" for what, name in made_with(report.provenance).items())
    rankings = Table(
        "Rankings",
        ("ranking", "queries", "missing", "documents", *names),
        tuple(
            (
                one.stage.value,
                one.queries,
                one.missing,
                Real(one.mean_documents, 1),
                *(Figure(one.measures[name], 4) for name in names),
            )
            for one in report.stages
        ),
        place="paper",
    )
    stages = tuple(one.stage for one in report.stages)
    queries = Table(
        f"Queries, {names[0]}",
        ("query", "job", "state", "relevant", *(stage.value for stage in stages)),
        tuple(
            (
                *(one.query, one.job, one.status.value, one.relevant),
                *(Real(one.stages[stage][names[0]]) if stage in one.stages else "" for stage in stages),
            )
            for one in report.queries
        ),
        texts=("job", "state"),
        place="page",
        is_listing=True,
    )
    times = Table(
        "Time",
        ("stage", "attempts", "seconds per query", "seconds in all"),
        tuple(
            (stage, one.attempts, Real(one.seconds / one.attempts if one.attempts else None), Real(one.seconds, 1))
            for stage, one in report.timings.cost.stages.items()
        ),
    )
    nothing = "No query is judged and has a ranking: there is nothing to measure."
    validator = [] if report.validator is None else [validator_in_words(report.validator)]
    return Sheet(
        title=run.run_id,
        head=f"{made}, ragq {run.ragq_version}",
        facts=(
            f"means over judged queries, 95 % intervals over {measures.bootstrap_resamples} resamples of queries "
            f"(seed {measures.bootstrap_seed})",
        ),
        notices=run.notices,
        parts=(
            *([rankings] if report.stages else [Remark(nothing)]),
            *(Remark(words, is_notice=False) for words in (*remarks(report.counts), *validator)),
            *([queries] if report.stages else []),
            times,
            *telemetry_tables({"answer": report.telemetry}),
            *failure_tables(report.failures),
            settings_table(report.settings),
            *package_tables(run.origin),
            identity_table(run, report.timings),
        ),
        cost=tuple(cost_words(report.timings.cost)),
        origin=tuple(origin_words(run.origin)),
    )


def evaluation_sheet(report: EvaluationReport) -> Sheet:
    """The shares, how far the judge can be trusted, and those of every answer."""
    measures = Table(
        "Measures",
        ("measure", "share", "answers", "scored", "undecided", "of"),
        tuple(
            (name.replace("_", " "), Figure(one.share), one.answers, one.scored, one.undecided, MEASURES[name])
            for name, one in report.measures.items()
        ),
        texts=("of",),
    )
    answers = Table(
        "Answers",
        ("question", "job", "state", *(name.replace("_", " ") for name in MEASURES)),
        tuple(
            (
                one.query if one.query_id is None else Ref(one.query, f"/rag/{one.query_id}/results/{one.result_id}"),
                Ref(one.job, f"/jobs/{one.job[1:]}"),
                one.status.value,
                *(Real(one.shares.get(name)) for name in MEASURES),
            )
            for one in report.answers
        ),
        texts=("job", "state"),
        is_listing=True,
    )
    return Sheet(
        title=report.run_id,
        head=f"answers of {report.evaluates}, judged by {report.judge}",
        facts=(),
        notices=report.notices,
        parts=(
            measures,
            *(Remark(words, is_notice=False) for words in evaluation_remarks(report)),
            answers,
            *failure_tables(report.failures),
        ),
        cost=tuple(cost_words(report.cost)),
    )
