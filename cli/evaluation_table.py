"""The report of an evaluation in the terminal."""

from rich.console import Group

from cli.cost_lines import cost_lines
from cli.drawing import Drawing, Text, figure_table, spaced
from cli.report_table import failure_table
from schemas.values.evaluation_reports import EvaluationReport
from stages.reports.evaluation import MEASURES, evaluation_remarks
from stages.reports.numbers_in_words import bounds, counted, number

#: Answers in the terminal; --json has all.
_SHOWN = 20


def evaluation_table(report: EvaluationReport) -> Drawing:
    """Head, measures, how far the judge can be trusted, and the answers with the least support."""
    head = Text.assemble((report.run_id, "bold"), f"  answers of {report.evaluates}  judge {report.judge}")
    parts: list[Drawing] = [
        Group(head, *(Text(notice, style="yellow") for notice in report.notices)),
        _measures(report),
        Text("\n".join(evaluation_remarks(report))),
        _answers(report),
        cost_lines(report.cost),
    ]
    if report.failures:
        parts.append(failure_table(report.failures, counted="jobs"))
    return spaced(parts)


def _measures(report: EvaluationReport) -> Drawing:
    table = figure_table("measure", "share", "95 %", "answers", "scored", "undecided", "of", texts=("of",))
    for name, found in report.measures.items():
        table.add_row(
            name,
            number(found.share.value),
            bounds(found.share),
            str(found.answers),
            str(found.scored),
            str(found.undecided),
            MEASURES[name],
        )
    return table


def _answers(report: EvaluationReport) -> Drawing:
    table = figure_table("question", "job", "state", *MEASURES, texts=("job", "state"))
    for one in report.answers[:_SHOWN]:
        table.add_row(Text(one.query), one.job, one.status, *(number(one.shares.get(name)) for name in MEASURES))
    more = len(report.answers) - _SHOWN
    rest = [Text(f"and {counted(more, 'more answer')}; --json has all of them", style="dim")] if more > 0 else []
    return Group(table, *rest)
