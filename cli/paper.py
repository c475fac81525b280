"""Tables of results for papers, as LaTeX and Markdown."""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from cli.output import draw, print_data
from cli.report_table import calibrated_on, exclusions, models, predicted_metrics
from schemas.values.differences import Difference
from schemas.values.metrics import Interval
from schemas.values.participants import PHQ8Item
from schemas.values.reports import Experiment, Report
from schemas.values.retrieval_reports import RetrievalDifference, RetrievalReport
from stages.metrics.selective import measure_names
from stages.reports.numbers_in_words import bounds, number, percent, percent_bounds
from stages.reports.report import PaperNumber, as_csv
from stages.reports.retrieval import made_with, remarks
from stages.reports.score_table import baseline_remarks, by_name
from stages.reports.words import definitions, interval_words, origin_words

Command = TypeVar("Command", bound=Callable[..., Any])


class PaperFormat(StrEnum):
    """What a table is written in."""

    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"


def paper_options(command: Command) -> Command:
    """Give a command the parameters that `paper_format` takes, and `write`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option("--latex", is_flag=True, help="Print tables in LaTeX; they need no package."),
    click.option("--markdown", is_flag=True, help="Print tables in Markdown."),
    click.option("--csv", is_flag=True, help="Print the numbers as CSV, one a row."),
    click.option(
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help="Write the tables or the CSV to this file.",
    ),
)


def paper_format(*, latex: bool, markdown: bool, csv: bool, as_json: bool, output: Path | None) -> PaperFormat | None:
    """The format that was asked for, if any. Raises UsageError for two at once, and for a file without any."""
    asked = {PaperFormat.LATEX: latex, PaperFormat.MARKDOWN: markdown, PaperFormat.CSV: csv}
    chosen = [one for one, is_asked in asked.items() if is_asked]
    if len(chosen) + as_json > 1:
        names = [*(f"--{one}" for one in chosen), *(["--json"] if as_json else [])]
        raise click.UsageError(f"{' and '.join(names)} exclude each other; give one of them.")
    if output is not None and not chosen:
        raise click.UsageError("--output goes with --latex, --markdown or --csv.")
    return chosen[0] if chosen else None


class PaperTable(NamedTuple):
    """A table and what has to be known to read it. All texts are plain; whoever writes the table escapes them."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    """Part of the table wherever it goes: what its numbers are made of, and caveats about them."""


def with_interval(interval: Interval, digits: int = 3) -> str:
    """A number and its interval."""
    return f"{number(interval.value, digits)} {bounds(interval, digits)}".rstrip()


def percent_with_interval(interval: Interval) -> str:
    """A share and its interval, in per cent."""
    return f"{percent(interval.value)} {percent_bounds(interval)}".rstrip()


def noticed(notices: Iterable[str]) -> Iterator[str]:
    """Caveats as notes of a table."""
    return (f"Notice: {notice}" for notice in notices)


def difference_tables(found: Iterable[Difference]) -> list[PaperTable]:
    """One table per pair of modes: both values and the difference, a row per metric."""
    return [_table(one) for one in found]


def difference_numbers(found: Iterable[Difference]) -> Iterator[PaperNumber]:
    """Every difference of the tables."""
    for one in found:
        for name, delta in one.deltas.items():
            yield PaperNumber(
                f"{one.right.run_id} - {one.left.run_id}",
                f"{one.right.mode} - {one.left.mode}",
                name,
                None,
                None,
                delta.delta,
                delta.participants,
                tuple(f"{side}: {notice}" for side, notice in _notices(one)),
                tuple(_origins(one)),
            )


def retrieval_difference_tables(found: RetrievalDifference) -> list[PaperTable]:
    """One table per ranking that both runs have."""
    return [
        PaperTable(
            f"Difference of {found.right} from {found.left} in ranking {ranking}",
            ("Measure", found.left, found.right, "Difference", "Queries"),
            tuple(
                (name, number(one.left, 4), number(one.right, 4), with_interval(one.delta, 4), str(one.queries))
                for name, one in deltas.items()
            ),
            ("In brackets: 95 % percentile intervals over paired resamples of queries.",),
        )
        for ranking, deltas in found.deltas.items()
    ]


def retrieval_difference_numbers(found: RetrievalDifference) -> Iterator[PaperNumber]:
    """Every difference of the tables."""
    for ranking, deltas in found.deltas.items():
        for name, one in deltas.items():
            run = f"{found.right} - {found.left}"
            yield PaperNumber(run, ranking.value, name, None, None, one.delta, one.queries, ())


def _table(found: Difference) -> PaperTable:
    left, right = _names(found)
    rows = (
        (name, number(delta.left), number(delta.right), with_interval(delta.delta), str(delta.participants))
        for name, delta in found.deltas.items()
    )
    return PaperTable(
        f"Difference of {right} from {left}",
        ("Metric", left, right, "Difference", "Participants"),
        tuple(rows),
        (
            "Over the participants that both scored. In brackets: 95 % percentile intervals over paired resamples of "
            f"participants. Confidence {found.confidence}.",
            *noticed(f"{side}: {notice}" for side, notice in _notices(found)),
            *_origins(found),
        ),
    )


def _names(found: Difference) -> tuple[str, str]:
    return f"{found.left.run_id} {found.left.mode}", f"{found.right.run_id} {found.right.mode}"


def _origins(found: Difference) -> Iterator[str]:
    for side in (found.left, found.right):
        for words in origin_words(side.origin):
            yield f"{side.run_id}: {words}"


def _notices(found: Difference) -> Iterator[tuple[str, str]]:
    for side in (found.left, found.right):
        for notice in side.notices:
            yield f"{side.run_id} {side.mode}", notice


_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "\n": " ",
        "\r": " ",
    }
)
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def as_latex(tables: Iterable[PaperTable]) -> str:
    """One float per table. Its notes are rows of the table itself, so that they cannot be left behind."""
    return "\n".join(map(_latex_table, tables))


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> latex_escaped("50 % of a_b: -0.5 [x]")
    '50 \\% of a\\_b: $-$0.5 {[}x]'
    """
    return _MINUS.sub("$-$", text.translate(_ESCAPES))


def _latex_table(table: PaperTable) -> str:
    width = len(table.columns)
    notes = [
        rf"\multicolumn{{{width}}}{{p{{0.9\linewidth}}}}{{\footnotesize {latex_escaped(note)}}}" for note in table.notes
    ]
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_escaped(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
        r"\hline",
        rf"{_row(table.columns)} \hline",
        *map(_row, table.rows),
        r"\hline",
        *(rf"{note} \\" for note in notes),
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(map(latex_escaped, cells)) + r" \\"


_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$])")


def as_markdown(tables: Iterable[PaperTable]) -> str:
    """Caption, table and notes of each."""
    return "\n".join(map(_markdown_table, tables))


def markdown_escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> markdown_escaped("a_b | <i>")
    'a\\_b \\| \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))


def _markdown_table(table: PaperTable) -> str:
    lines = [
        f"**{markdown_escaped(table.caption)}**",
        "",
        _markdown_row(table.columns),
        f"| --- |{' ---: |' * (len(table.columns) - 1)}",
        *map(_markdown_row, table.rows),
        "",
        *(line for note in table.notes for line in (f"> {markdown_escaped(note)}", ">")),
    ]
    return "\n".join(lines[:-1]) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(markdown_escaped, cells))} |"


def retrieval_tables(report: RetrievalReport) -> list[PaperTable]:
    """A row per ranking, a column per measure."""
    run, measures = report.run_metadata, report.measures
    names = measure_names(measures.cutoff)
    made = ", ".join(f"{what} {name}" for what, name in made_with(report.provenance).items())
    rows = (
        (found.stage.value, str(found.queries), *(with_interval(found.measures[name], 4) for name in names))
        for found in report.stages
    )
    note = (
        f"ragq {run.ragq_version}, run {run.run_id}: {made}. Means over judged queries; in brackets 95 % percentile "
        f"intervals over {measures.bootstrap_resamples} resamples of queries (seed {measures.bootstrap_seed})."
    )
    notes = (note, *remarks(report.counts), *noticed(run.notices), *origin_words(run.origin))
    return [PaperTable(f"Rankings of run {run.run_id}", ("Ranking", "Queries", *names), tuple(rows), notes)]


_OF_MODES: dict[str, Callable[[Experiment], str]] = {
    "Participants": lambda one: str(one.results.total_subjects),
    "Evaluated participants": lambda one: str(one.results.evaluated_subjects),
    "MAE (weighted)": lambda one: with_interval(one.results.intervals["item_mae_weighted"]),
    "MAE (by item)": lambda one: with_interval(one.results.intervals["item_mae_by_item"]),
    "MAE (by subject)": lambda one: with_interval(one.results.intervals["item_mae_by_subject"]),
    "Coverage (%)": lambda one: percent_with_interval(one.results.intervals["prediction_coverage"]),
    "Cmax (%)": lambda one: percent_with_interval(one.selective_prediction.cmax),
    "AURC": lambda one: with_interval(one.selective_prediction.chosen.aurc),
    "AUGRC": lambda one: with_interval(one.selective_prediction.chosen.augrc),
}


def report_tables(report: Report) -> list[PaperTable]:
    """The metrics of each mode, the error of each item, and the risk at each coverage; a column per mode."""
    modes = tuple(experiment.results.mode.value for experiment in report.experiments)
    run = report.run_metadata
    notes = (
        _made_of(report),
        *exclusions(report),
        *baseline_remarks(report),
        *noticed(run.notices),
        *origin_words(run.origin),
    )
    return [
        PaperTable(
            f"Results of run {run.run_id}",
            ("Metric", *modes),
            (
                *((name, *map(show, report.experiments)) for name, show in _OF_MODES.items()),
                *_baselines(report),
                *_predictions(report),
            ),
            notes,
        ),
        PaperTable(
            f"Mean absolute error per item of run {run.run_id}",
            ("Item", *(column for mode in modes for column in (mode, f"{mode} n"))),
            tuple((item.value, *_of_item(report, item)) for item in PHQ8Item),
            ("n: participants with a score for the item.", *notes),
        ),
        PaperTable(
            f"Selective risk of run {run.run_id} at coverages",
            ("Coverage", *modes),
            tuple(_at_coverage(report, f"{coverage:g}") for coverage in report.measures.coverage_grid),
            ("Risk: mean loss of the most confident items, at the first step that reaches the coverage.", *notes),
        ),
    ]


def _baselines(report: Report) -> Iterator[tuple[str, ...]]:
    """The errors of the median and of the mode of the training split, and those of the modes less them."""
    of_modes = [by_name(experiment.baselines) for experiment in report.experiments]
    for name in dict.fromkeys(name for of_mode in of_modes for name in of_mode):
        yield f"MAE of the {name}", *(with_interval(found[name].item_mae_weighted) for found in of_modes)
        yield f"MAE less that of the {name}", *(with_interval(found[name].difference) for found in of_modes)


def _predictions(report: Report) -> Iterator[tuple[str, ...]]:
    """The metrics of totals, or of depressed or not, if the run or an option asks for them."""
    mode = report.measures.prediction_mode
    for name, metric in predicted_metrics(report.measures).items():
        yield f"{mode}: {name}", *(with_interval(one.results.intervals[metric]) for one in report.experiments)


def _of_item(report: Report, item: PHQ8Item) -> Iterator[str]:
    for experiment in report.experiments:
        found = experiment.results.per_item[item]
        yield with_interval(found.mae_interval)
        yield str(found.count)


def _at_coverage(report: Report, coverage: str) -> tuple[str, ...]:
    found = (one.selective_prediction.chosen.risk_at_coverage[coverage].risk for one in report.experiments)
    return coverage, *map(with_interval, found)


def _made_of(report: Report) -> str:
    run, measures = report.run_metadata, report.measures
    calibrated = [experiment.calibrated for experiment in report.experiments]
    split = report.experiments[0].provenance.subjects
    indexes = dict.fromkeys(one.in_words for each in report.experiments for one in each.provenance.reference_indexes)
    return (
        f"ragq {run.ragq_version}, run {run.run_id} of {split}, profile {run.profile}, {models(report)}. Intervals: "
        f"{interval_words(report)}. Items are ordered by confidence {measures.confidence}, with loss {measures.loss}"
        f"; {definitions(measures)}."
        + "".join(f" References are of index {words}." for words in indexes)
        + "".join(sorted({f" It was calibrated on {calibrated_on(found)}." for found in calibrated if found}))
    )


def write(
    wanted: PaperFormat,
    *,
    tables: Iterable[PaperTable],
    numbers: Iterable[PaperNumber],
    confidence: str | None,
    output: Path | None,
) -> None:
    """Print a report in a format, or write it to a file."""
    match wanted:
        case PaperFormat.LATEX:
            text = as_latex(tables)
        case PaperFormat.MARKDOWN:
            text = as_markdown(tables)
        case PaperFormat.CSV:
            text = as_csv(numbers, confidence=confidence)
    if output is None:
        print_data(text)
    else:
        output.write_text(text, encoding="utf-8", newline="")
        draw(f"Wrote {output}.", err=True)
