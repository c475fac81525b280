"""The results of runs: `ragq report`, `ragq diff` and `ragq evaluate`."""

import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from cli.config import known_prices, with_database, with_open_database
from cli.files import read_file
from cli.ids import RUN
from cli.new_runs import conclude, print_estimates, report_stored, run_options
from cli.options import FILE, Choice, given, request_options, together, values_option
from cli.output import Drawing, Text, draw, figure_table, json_option, print_json, print_text, spaced
from cli.sheets import Write, draw_sheets, paper_options
from schemas.values.differences import Measures, RetrievalMeasures
from schemas.values.evaluations import EvaluationReport, JudgeQuality
from schemas.values.participants import AssessmentMode
from schemas.values.reports import Report, RetrievalReport
from services.evaluations import evaluate, evaluation_report, plan_evaluation, quality_of_judge, sheet_of_labels
from services.reports import compare, report_of, report_page, sheet_of, write_plots
from stack.home import write_private
from stages.reports.comparison_sheet import EXAMPLE, comparison_sheet, condition, gate, passed
from stages.reports.report import retrieval_measures_of
from stages.reports.words import bounds, counted, number
from store.runs import overviews
from store.views import reported_run

measure_options = together(request_options(Measures), request_options(RetrievalMeasures, "cutoff"))


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@measure_options
@click.option(
    "--calibrate-on",
    metavar="RUN",
    type=RUN,
    help="Calibrate the confidence on this run of other participants: --confidence calibrated:METHOD:NAME, with "
    "method temperature, isotonic, or logistic, which takes A+B too.  [default: calibrated:temperature:verbalized]",
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write a self-contained page with plots to this file: numbers and ids, no word of a transcript or a query.",
)
@click.option(
    "--plots",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write each plot as SVG and PNG to this folder: risk over coverage, error per item, calibration, or nDCG per "
    "ranking.",
)
@paper_options
@json_option
def report(
    run_id: int,
    calibrate_on: int | None,
    page: Path | None,
    plots: Path | None,
    write: Write | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the results of a run, with 95 % intervals.

    Of participants: errors, coverage and selective prediction; those without item labels count in no metric. Of queries
    with relevance judgements: nDCG, recall, MRR and precision of each ranking along the chain, and precision and recall
    of the validator. Of an evaluation: how far sources and reference answers support the answers. Two reports of the
    same work differ in `timings` alone.

    \b
    Example:
        ragq report r12
        ragq report r12 --html report.html --plots plots --confidence hybrid_verbalized
        ragq report r12 --latex --output table.tex
        ragq report r15 --cutoff 5
    """
    prices = known_prices()
    chosen = given(options)

    found: Report | RetrievalReport | EvaluationReport
    if with_database(overviews.get, run_id).kind == "evaluation":
        if write or page or plots or calibrate_on:
            raise click.UsageError("The report of an evaluation is printed, or given as --json.")
        found = with_database(evaluation_report, run_id, measures=retrieval_measures_of(chosen))
    else:
        run = with_database(reported_run, run_id)
        other = None if calibrate_on is None else with_database(reported_run, calibrate_on)
        found = report_of(run, chosen, calibrate_on=other, prices=prices)
    if as_json:
        print_json(found)
    elif write is not None:
        write([sheet_of(found)])
    elif not (page or plots):
        draw_sheets([sheet_of(found)])
    if isinstance(found, EvaluationReport):
        return
    if page is not None:
        page.write_text(report_page(found), encoding="utf-8")
        draw(f"Wrote {page}.", err=True)
    if plots is not None:
        for file in write_plots(found, plots):
            draw(f"Wrote {file}.", err=True)


#: The exit code for a condition of `--fail-if` that is met, or cannot be decided.
GATE_FAILED: Final = 4

_MODES = Choice(AssessmentMode)


@click.command()
@click.argument("left", metavar="A", type=RUN)
@click.argument("right", metavar="B", type=RUN)
@click.argument("more", metavar="[C...]", type=RUN, nargs=-1)
@click.option("--mode", type=_MODES, help="Mode to compare.  [default: each that both runs have]")
@click.option("--other-mode", type=_MODES, help="Mode of B, when it is another than that of A.")
@click.option(
    "--fail-if",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    help=f"End with exit code {GATE_FAILED} if the 95 % interval shows it, such as '{EXAMPLE}' or "
    "'ndcg@10 decreases by more than .02', or if too few subjects have an interval. Can be repeated.",
)
@measure_options
@click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="A measure to show instead of all. May be repeated."
)
@paper_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON array, one object per mode. With --fail-if an object: `passed`, `verdicts` and `comparisons`.",
)
def diff(
    left: int,
    right: int,
    more: tuple[int, ...],
    mode: AssessmentMode | None,
    other_mode: AssessmentMode | None,
    conditions: tuple[str, ...],
    metrics: tuple[str, ...],
    write: Write | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the results of run B, and of others, with those of run A: B - A, with 95 % intervals of paired resamples.

    Scored runs are compared on the participants that both scored, runs of queries on the queries that both have. Also
    shows the items or queries that changed, the settings that differ, and who failed in one of them only. Three runs
    and more have intervals that are corrected for the number of comparisons (Bonferroni).

    \b
    Example:
        ragq diff r12 r15
        ragq diff r12 r12 --mode zero_shot --other-mode few_shot
        ragq diff r20 r21 --cutoff 5
        ragq diff r12 r15 --fail-if "mae increases" --fail-if "coverage decreases by more than .05"
        ragq diff r12 r13 r14 r15 --metric item_mae_weighted --csv > compared.csv
    """
    asked = [condition(words) for words in conditions]
    found = with_open_database(compare, [left, right, *more], mode=mode, other_mode=other_mode, measures=given(options))
    sheets = [comparison_sheet(one, metrics) for one in found]
    verdicts = gate(found, asked)
    if write is not None:
        write(sheets)
    elif as_json:
        print_json({"passed": passed(verdicts), "verdicts": verdicts, "comparisons": found} if asked else found)
    else:
        draw_sheets(sheets)
    if asked:
        draw(*(f"{one.outcome}: {one.of} {one.condition}: {one.why}" for one in verdicts), err=True)
        sys.exit(0 if passed(verdicts) else GATE_FAILED)


@click.command("evaluate")
@click.argument("run_id", metavar="RUN", type=RUN)
@values_option("Another value of a setting of the judge. May be repeated.", "MODEL_JUDGE_MODEL=gemma3:27b")
@click.option("--new", "always_new", is_flag=True, help="Store another evaluation even if the same one is stored.")
@click.option(
    "--sheet",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the sentences of the evaluation RUN in random order as a CSV; people label the first ones yes or no.",
)
@click.option(
    "--labels",
    metavar="FILE",
    type=FILE,
    help="Print precision and recall of the judge of the evaluation RUN on a labelled sheet, and its share corrected.",
)
@run_options
def evaluate_command(
    run_id: int,
    values: dict[str, str],
    always_new: bool,
    sheet: Path | None,
    labels: Path | None,
    dry_run: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Judge the newest answer of each question of a run, as a run of its own with one job for each answer.

    The judge is the model that validates in the run. It decides for each sentence whether the sources that the sentence
    cites support it, and for questions with a reference answer (`reference_answer` in the file of --queries) whether
    the two support each other. `ragq report` shows precision and recall of the citations, correctness and
    completeness. What could not be judged is counted, and is in no share.

    \b
    Example:
        ragq evaluate r12 --wait
        ragq evaluate r12 --set MODEL_JUDGE_MODEL=gemma3:27b --dry-run
        ragq evaluate r13 --sheet labels.csv
        ragq evaluate r13 --labels labels.csv
    """
    if sheet or labels:
        if values or always_new or dry_run or wait or (sheet and labels):
            raise click.UsageError("--sheet and --labels read an evaluation: each goes alone, --labels with --json.")
        if sheet:
            if sheet.exists():
                raise click.UsageError(f"{sheet} exists, perhaps with labels; name another file.")
            write_private(sheet, with_database(sheet_of_labels, run_id))
            done = f"`ragq evaluate r{run_id} --labels {sheet}` reads it."
            print_text(f"{sheet}: write yes or no into its last column; {done}")
        if labels:
            found = with_database(quality_of_judge, run_id, read_file(labels), file=labels.name)
            print_json(found) if as_json else draw(_quality(found))
        return
    if dry_run:
        print_estimates([partial(plan_evaluation, run_id=run_id, values=values)], as_json=as_json)
        return
    submitted = with_open_database(evaluate, run_id, values, always_new=always_new)
    report_stored(submitted, f"{counted(submitted.jobs, 'answer')} of r{run_id} to evaluate", again="evaluated")
    conclude([submitted], wait=wait, as_json=as_json, evaluates=f"r{run_id}")
    if wait:
        print_text(f"`ragq report r{submitted.run_id}` shows the results.", err=True)


def _quality(found: JudgeQuality) -> Drawing:
    table = figure_table("", "share", "95 %")
    shares = {
        "precision of the judge": found.precision,
        "recall of the judge": found.recall,
        "supported, as judged": found.judged,
        "supported, corrected": found.corrected,
    }
    for name, share in shares.items():
        if share is not None:
            table.add_row(name, number(share.value), bounds(share))
    remarks = [
        f"{counted(found.labelled, 'labelled sentence')}, {found.unlabelled} without a label"
        + (f"; the judge was unsure of {found.unsure} labelled ones." if found.unsure else ".")
    ]
    if found.corrected is None:
        remarks.append("No correction: it takes sentences labelled yes and no, and a judge that is better than chance.")
    elif found.labels_to_halve is None:
        remarks.append("Labels of all sentences would not halve the corrected interval: it takes more judged answers.")
    else:
        remarks.append(f"{counted(found.labels_to_halve, 'more label')} would halve the corrected interval.")
    return spaced([table, Text("\n".join(remarks))])
