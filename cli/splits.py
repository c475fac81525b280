"""`ragq splits`: the splits that are stored."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import click
from rich.table import Column

from cli.config import with_database
from cli.files import read_file
from cli.options import FILE, group
from cli.output import FittingTable, Text, draw, json_option, print_json, print_text
from schemas.values.participants import Split, SplitProblem, StoredSplit
from services.splits import drawn_splits, find_data_set, make_splits, published_splits
from stages.participants.splits import origin_words, parse_listed_splits, split_problems
from stages.records import ProblemsFound
from stages.reports.tables import Moment
from stages.reports.words import counted
from store.database import Connection
from store.references.interviews import known, stored_splits

WRONG = 1


@group("splits")
def splits_group() -> None:
    """Make, list and check the splits of participants.

    \b
    Example:
        ragq splits make --paper
        ragq splits list
    """


@splits_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the splits that are stored, how each was made, and what is wrong with it.

    Correct is a split of known participants without overlap, with the paper's ids if it is the paper's, and with
    labels that add up. Exit codes: 0 all correct, 1 problems were found.

    \b
    Example:
        ragq splits list
    """
    splits, problems = with_database(_checked)
    found = [(split, [problem for problem in problems if problem.split == split.called]) for split in splits]
    if as_json:
        print_json([split.model_dump(mode="json") | {"problems": wrong} for split, wrong in found])
    elif not splits:
        print_text("No split is stored. `ragq import participants DIR` imports those of a data set.", err=True)
    else:
        table = FittingTable("split", Column("participants", justify="right"), "made by", "check", "ids hash", "stored")
        for split, wrong in found:
            made, check = origin_words(split.origin), Text("wrong", "red") if wrong else "correct"
            size, when = len(split.participant_ids), Moment(split.imported_at)
            table.add_row(split.called, size, made, check, split.ids_hash, when)
        draw(table, *(f"{problem.split}: {problem.found}; {problem.what_to_do}" for problem in problems))
    if problems:
        raise SystemExit(WRONG)


async def _checked(connection: Connection) -> tuple[list[StoredSplit], list[SplitProblem]]:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        splits = await stored_splits(connection)
        problems: list[SplitProblem] = []
        for data_set, own in groupby(splits, key=attrgetter("data_set")):
            problems += split_problems(list(own), await known(connection, data_set))
        return splits, problems


@splits_group.command("make")
@click.option("--paper", is_flag=True, help="paper-train, paper-val and paper-test with the published participants.")
@click.option("--seed", type=int, help="With --paper: a new draw by the paper's rule instead of its participants.")
@click.option(
    "--from",
    "listed",
    type=FILE,
    help="The splits that a file lists: the paper's metadata JSON, or a CSV with the columns Participant_ID and split.",
)
@click.option("--data-set", help="Whose splits; needed where several data sets are stored.")
@click.option("--replace", is_flag=True, help="Replace splits of the same names that have other participants.")
@json_option
def make_command(
    paper: bool, seed: int | None, listed: Path | None, data_set: str | None, replace: bool, as_json: bool
) -> None:
    """Make splits of the participants that are stored, and store them with how they were made.

    The published participants are checked against those that are stored, and missing ones are named. With --seed,
    participants are grouped by total score: a group of one goes to train, of a group of two one goes to val and one
    to test, the others are drawn to 41, 30 and 29 %, balanced by total and gender. The same seed draws the same.

    Exit codes: 0 stored, 1 refused, 2 wrong usage.

    \b
    Example:
        ragq splits make --paper
        ragq splits make --paper --seed 7 --replace
        ragq splits make --from data/paper_splits/paper_split_metadata.json
    """
    if paper == (listed is not None):
        raise click.UsageError("Name one of --paper and --from FILE. Example: ragq splits make --paper")
    if seed is not None and not paper:
        raise click.UsageError("--seed goes with --paper: it draws the paper's splits anew by their rule.")
    made: Sequence[Split] | None = None if listed is None else _listed(listed)
    of = with_database(find_data_set, data_set)
    if made is None:
        made = published_splits() if seed is None else with_database(drawn_splits, of, seed=seed)
    replaced = with_database(make_splits, of, made, replace_stored=replace)
    if as_json:
        sizes = {
            split.name: {"participants": len(split.participant_ids), **split.origin.model_dump(mode="json")}
            for split in made
        }
        print_json({"splits": sizes, "replaced": replaced})
        return
    for split in made:
        size = counted(len(split.participant_ids), "participant")
        mark = " (replaced)" if split.name in replaced else ""
        print_text(f"split {split.name}: {size}, {origin_words(split.origin)}{mark}")


def _listed(file: Path) -> tuple[Split, ...]:
    parsed = parse_listed_splits(read_file(file), file=file.name)
    if parsed.problems:
        raise ProblemsFound(parsed.problems, of="list of splits", consequence="nothing was stored")
    return parsed.value
