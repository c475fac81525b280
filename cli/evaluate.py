"""`ragq evaluate`: the answers of a run, judged by a language model."""

from functools import partial
from pathlib import Path
from typing import Final

import click

from cli.config import with_database, with_open_database
from cli.files import read_file
from cli.ids import RUN
from cli.new_runs import conclude, print_estimates, run_options
from cli.options import FILE, values_option
from cli.output import Drawing, Text, draw, figure_table, print_json, print_text, spaced
from schemas.values.evaluations import JudgeQuality
from services.evaluations import evaluate, plan_evaluation, quality_of_judge, sheet_of_labels
from stack.home import write_private
from stages.reports.words import bounds, counted, number

#: Enough that the interval of a judge with few errors is about a tenth wide on either side.
SENTENCES: Final = 100


@click.command("evaluate")
@click.argument("run_id", metavar="RUN", type=RUN)
@values_option("Another value of a setting of the judge. May be repeated.", "MODEL_JUDGE_MODEL=gemma3:27b")
@click.option("--name", metavar="NAME", help="Name of the evaluation, which no other run has; commands take it.")
@click.option("--new", "always_new", is_flag=True, help="Store another evaluation even if the same one is stored.")
@click.option(
    "--sheet",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write sentences of the evaluation RUN, drawn at random, as a CSV for people to label yes or no.",
)
@click.option("--sentences", metavar="N", type=click.IntRange(1), help=f"Sentences of --sheet.  [default: {SENTENCES}]")
@click.option(
    "--labels",
    metavar="FILE",
    type=FILE,
    help="Print precision and recall of the judge of the evaluation RUN on a labelled sheet, and its share corrected.",
)
@run_options("evaluation")
def evaluate_command(
    run_id: int,
    values: dict[str, str],
    name: str | None,
    always_new: bool,
    sheet: Path | None,
    sentences: int | None,
    labels: Path | None,
    dry_run: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Judge the newest answer of each question of a run, as a run of its own with one job for each answer.

    The judge is the model that validates in the run. It decides for each sentence whether the sources that the sentence
    cites support it, and for questions with a reference answer (`reference_answer` in the file of --queries) whether
    the two support each other. `ragq report` shows precision and recall of the citations, correctness and
    completeness, beside the measured quality of the validator. What could not be judged is counted, and is in no share.

    \b
    Example:
        ragq evaluate r12 --wait
        ragq evaluate r12 --set MODEL_JUDGE_MODEL=gemma3:27b --dry-run
        ragq evaluate r12 --name judged --json
        ragq evaluate r13 --sheet labels.csv
        ragq evaluate r13 --labels labels.csv
    """
    if sentences and sheet is None:
        raise click.UsageError("--sentences goes with --sheet.")
    if sheet or labels:
        if values or name or always_new or dry_run or wait or (sheet and labels):
            raise click.UsageError("--sheet and --labels read an evaluation: each goes alone, --labels with --json.")
        if sheet:
            _write_sheet(run_id, sheet, sentences or SENTENCES)
        if labels:
            _print_quality(run_id, labels, as_json=as_json)
        return
    if dry_run:
        print_estimates([partial(plan_evaluation, run_id=run_id, values=values)], as_json=as_json)
        return
    submitted = with_open_database(evaluate, run_id, values, name=name, always_new=always_new)
    run = f"r{submitted.run_id}"
    if submitted.is_new:
        print_text(f"{run}: {counted(submitted.jobs, 'answer')} of r{run_id} to evaluate.", err=True)
    else:
        print_text(f"Already evaluated as {run}; nothing new was stored. --new forces another evaluation.", err=True)
    for notice in submitted.notices:
        print_text(notice, err=True)
    conclude([submitted], wait=wait, as_json=as_json, evaluates=f"r{run_id}")
    if wait:
        print_text(f"`ragq report {run}` shows the results.", err=True)


def _write_sheet(run_id: int, path: Path, count: int) -> None:
    if path.exists():
        raise click.UsageError(f"{path} exists, perhaps with labels; name another file.")
    write_private(path, with_database(sheet_of_labels, run_id, count))
    print_text(f"{path}: write yes or no into its last column; `ragq evaluate r{run_id} --labels {path}` reads it.")


def _print_quality(run_id: int, path: Path, *, as_json: bool) -> None:
    data = read_file(path)
    found = with_database(quality_of_judge, run_id, data, file=path.name)
    print_json(found) if as_json else draw(_quality(found))


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
