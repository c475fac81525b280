"""A report of a run of queries in the terminal, and how two of them differ."""

from collections.abc import Iterable

from rich.console import Group

from cli.output import Drawing, FittingTable, Text, figure_table, spaced
from cli.report_table import failure_table, telemetry_table
from cli.run_table import cost_lines, origin_lines
from schemas.values.retrieval_reports import (
    RetrievalDifference,
    RetrievalReport,
)
from stages.reports.numbers_in_words import bounds, number
from stages.reports.retrieval import made_with, remarks, validator_in_words

#: Rows of a table of queries; JSON has them all.
_SHOWN = 20


def retrieval_table(report: RetrievalReport) -> Drawing:
    """Head, one line per ranking, the validator, what it took, and what went wrong."""
    parts: list[Drawing] = [_head(report), _stages(report), Text("\n".join(remarks(report.counts)))]
    if report.validator is not None:
        parts.append(Text(validator_in_words(report.validator)))
    parts += [_times(report), cost_lines(report.timings.cost)]
    if report.telemetry:
        parts.append(telemetry_table({"answer": report.telemetry}))
    if report.failures:
        parts.append(failure_table(report.failures, counted="jobs"))
    parts.append(Group(*origin_lines(report.run_metadata.origin)))
    return spaced(parts)


def retrieval_difference_table(found: RetrievalDifference) -> Drawing:
    """Head, one line per ranking and measure, settings, and the queries that moved most."""
    parts: list[Drawing] = [
        Text.assemble((f"{found.right} - {found.left}", "bold"), f"  queries of both: {found.common_queries}"),
        *([_deltas(found)] if found.deltas else []),
    ]
    if found.tokens.left or found.tokens.right:
        tokens = (number(found.tokens.left, 0), number(found.tokens.right, 0))
        between = f"{number(found.tokens.delta.value, 0)} {bounds(found.tokens.delta, 0)}".rstrip()
        parts.append(Text(f"tokens of calls for a query: {tokens[0]}, {tokens[1]}; difference {between}"))
    if found.overlap:
        parts.append(_overlaps(found))
    if found.settings:
        settings = figure_table("setting", found.left, found.right)
        for name, setting in found.settings.items():
            settings.add_row(name, Text(str(setting.left)), Text(str(setting.right)))
        parts.append(settings)
    parts += [Text(line) for line in _differing_queries(found)]
    if found.changes:
        changes = figure_table(f"query ({found.changes[0].stage})", found.left, found.right)
        for change in found.changes[:_SHOWN]:
            changes.add_row(Text(change.query), number(change.left), number(change.right))
        parts.append(changes)
    return spaced(parts)


def _head(report: RetrievalReport) -> Drawing:
    run, measures = report.run_metadata, report.measures
    names = "  ".join(f"{what} {name}" for what, name in made_with(report.provenance).items())
    return Group(
        Text.assemble((run.run_id, "bold"), f"  {names}"),
        *(Text(notice, style="yellow") for notice in run.notices),
        Text(
            f"means over judged queries, 95 % intervals over {measures.bootstrap_resamples} resamples of queries "
            f"(seed {measures.bootstrap_seed})",
            style="dim",
        ),
    )


def _stages(report: RetrievalReport) -> Drawing:
    if not report.stages:
        return Text("No query is judged and has a ranking: there is nothing to measure.", style="yellow")
    table = figure_table("ranking", "queries", "missing", "documents", *report.stages[0].measures)
    for found in report.stages:
        table.add_row(
            found.stage,
            str(found.queries),
            str(found.missing),
            number(found.mean_documents, 1),
            *(
                Text.assemble(number(interval.value, 4), "\n", (bounds(interval), "dim"))
                for interval in found.measures.values()
            ),
        )
    return table


def _times(report: RetrievalReport) -> FittingTable:
    table = figure_table("stage", "attempts", "s per query", "s in all")
    for stage, found in report.timings.stages.items():
        mean = report.timings.seconds_per_query[stage]
        table.add_row(stage, str(found.attempts), number(mean), number(found.seconds, 1))
    return table


def _deltas(found: RetrievalDifference) -> FittingTable:
    table = figure_table("ranking", "measure", "queries", found.left, found.right, "delta", "95 %", texts=("measure",))
    for stage, deltas in found.deltas.items():
        for name, delta in deltas.items():
            low, high = delta.delta.low, delta.delta.high
            is_clear = low is not None and high is not None and low * high > 0
            table.add_row(
                stage,
                name,
                str(delta.queries),
                number(delta.left, 4),
                number(delta.right, 4),
                Text(number(delta.delta.value, 4), style="bold" if is_clear else ""),
                bounds(delta.delta, 4),
            )
    return table


def _overlaps(found: RetrievalDifference) -> FittingTable:
    table = figure_table("ranking", "first passages that both have")
    for stage, share in found.overlap.items():
        table.add_row(stage, f"{share:.0%}")
    return table


def _differing_queries(found: RetrievalDifference) -> list[str]:
    lists = {
        f"Failed in {found.left} only": found.failed_in_left_only,
        f"Failed in {found.right} only": found.failed_in_right_only,
        f"Only in {found.left}": found.only_in_left,
        f"Only in {found.right}": found.only_in_right,
    }
    lines = [f"{what}: {_shortened(keys)}" for what, keys in lists.items() if keys]
    if found.unlike_judgements:
        lines.append(f"{found.unlike_judgements} common queries are judged otherwise and are in no delta.")
    if found.changes:
        lines.append(f"{len(found.changes)} queries moved in {found.changes[0].stage}.")
    return lines


def _shortened(keys: Iterable[str]) -> str:
    keys = list(keys)
    others = len(keys) - _SHOWN
    return ", ".join(keys[:_SHOWN]) + (f" and {others} more" if others > 0 else "")
