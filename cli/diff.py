"""`ragq diff`: one run against another of its kind."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from cli.config import with_database
from cli.ids import RUN
from cli.options import Choice
from cli.output import draw, print_data, print_json
from cli.report import (
    StoredRun,
    as_run,
    chosen_measures,
    given_measures,
    measure_options,
    metric_option,
    retrieval_measures,
    stored_run,
)
from cli.sheets import draw_sheets, paper_format, paper_options, write
from schemas.values.differences import Difference, Gate, SeveralRuns
from schemas.values.participants import AssessmentMode
from schemas.values.queries import QueryRun
from schemas.values.retrieval_reports import RetrievalDifference
from services.several_runs import Comparable, compare_queries, compare_scores, compared, tags_run
from stages.reports.difference_sheets import difference_sheets, several_sheet
from stages.reports.gate import EXAMPLE, condition, gate, gate_words
from stages.reports.several_runs import TagsRun, several_csv
from store.database import Connection
from store.runs import overviews

#: The exit code for a condition of `--fail-if` that is met, or cannot be decided.
GATE_FAILED: Final = 4

AnyDifference = Sequence[Difference] | RetrievalDifference


def composed_difference(
    runs: Sequence[StoredRun], mode: str | None, other_mode: str | None, options: Mapping[str, Any]
) -> AnyDifference:
    """The second run against the first."""
    before, after = map(as_run, runs)
    if isinstance(before, QueryRun) and isinstance(after, QueryRun):
        if mode is not None:
            raise click.UsageError("--mode: only for scored runs.")
        return compare_queries(before, after, retrieval_measures(**options))
    return compare_scores(before, after, mode=mode, other_mode=other_mode, measures=chosen_measures(**options))


def print_difference(found: AnyDifference, decided: Gate | None = None, *, as_json: bool) -> None:
    """Print a difference as JSON, with a gate beside it if there is one, or in tables."""
    if as_json:
        plain = found if isinstance(found, RetrievalDifference) else list(found)
        print_json(plain if decided is None else {"gate": decided, "difference": plain})
    else:
        draw_sheets(difference_sheets(found))


_MODES = Choice([mode.value for mode in AssessmentMode])


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
@metric_option
@paper_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON array, one object per mode; of two runs of queries one object. With --fail-if, `gate` and "
    "`difference`.",
)
def diff(
    left: int,
    right: int,
    more: tuple[int, ...],
    mode: str | None,
    other_mode: str | None,
    conditions: tuple[str, ...],
    metrics: tuple[str, ...],
    latex: bool,
    markdown: bool,
    csv: bool,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the results of run B, and of others, with those of run A: B - A, with 95 % intervals of paired resamples.

    Two scored runs are compared on the participants that both scored, two runs of queries on the queries that both
    have. Also shows the items or queries that changed, the settings that differ, and who failed in one of them only.
    Three runs and more, and runs of phrases, are shown in one table, with intervals that are corrected for the number
    of comparisons (Bonferroni) beside the others.

    \b
    Example:
        ragq diff r12 r15
        ragq diff r12 r12 --mode zero_shot --other-mode few_shot
        ragq diff r20 r21 --cutoff 5
        ragq diff r12 r15 --fail-if "mae increases" --fail-if "coverage decreases by more than .05"
        ragq diff r12 r13 r14 r15 --metric item_mae_weighted --csv > compared.csv
    """
    if other_mode is not None and mode is None:
        raise click.UsageError("--other-mode goes with --mode, which names the mode of A.")
    run_ids = [left, right, *more]
    asked = [condition(words) for words in conditions]

    async def read(connection: Connection) -> tuple[bool, list[StoredRun]]:
        is_of_two = not more and (await overviews.get(connection, left)).kind != "tags"
        reader = stored_run if is_of_two else comparable
        return is_of_two, [await reader(connection, run_id) for run_id in run_ids]

    is_of_two, runs = with_database(read)
    if is_of_two:
        if metrics:
            raise click.UsageError("--metric: only for three runs and more, and runs of phrases.")
        wanted = paper_format(latex=latex, markdown=markdown, csv=csv, as_json=as_json, output=output)
        found = composed_difference(runs, mode, other_mode, options)
        decided = gate(found, asked) if asked else None
        if wanted is None:
            print_difference(found, decided, as_json=as_json)
        else:
            write(difference_sheets(found), wanted, output)
        if decided is not None:
            draw(*gate_words(decided), err=True)
            sys.exit(0 if decided.passed else GATE_FAILED)
        return
    if asked:
        raise click.UsageError("--fail-if: only for two runs of participants or queries.")
    if other_mode is not None or latex or markdown:
        raise click.UsageError("--other-mode, --latex and --markdown go with two runs of participants or queries.")
    if csv and as_json:
        raise click.UsageError("--csv and --json exclude each other; give one of them.")
    if output is not None and not csv:
        raise click.UsageError("--output goes with --csv.")
    several = compared([_comparable(run) for run in runs], mode=mode, measures=given_measures(**options))
    _print_several(several, metrics, csv=csv, output=output, as_json=as_json)


def _comparable(run: StoredRun) -> Comparable:
    return run if isinstance(run, TagsRun) else as_run(run)


def _print_several(
    found: Sequence[SeveralRuns], metrics: Sequence[str], *, csv: bool, output: Path | None, as_json: bool
) -> None:
    if as_json:
        print_json(found)
    elif not csv:
        draw_sheets(several_sheet(one, metrics) for one in found)
    elif output is None:
        print_data(several_csv(found))
    else:
        output.write_text(several_csv(found), encoding="utf-8", newline="")
        draw(f"Wrote {output}.", err=True)


async def comparable(connection: Connection, run_id: int) -> StoredRun:
    """A run of participants, queries or phrases. Raises RunMissingError, and Refused for any other."""
    kind = (await overviews.get(connection, run_id)).kind
    if kind != "tags":
        return await stored_run(connection, run_id, kind=kind)
    return await tags_run(connection, run_id)
