"""`ragq import`, `ragq demo-data` and `ragq splits`: interviews, labels and splits in the DAIC-WOZ layout."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import click
from rich.table import Column

from cli.config import with_database
from cli.files import FileRefused, environment, read_file, tell_unread
from cli.import_works import works_command
from cli.main import REFUSED
from cli.options import FILE, Choice, group
from cli.output import FittingTable, Text, draw, json_option, print_json, print_result, print_text
from cli.tags import import_command
from demo.data_set import data_set_files, packaged_files, write_files
from schemas.errors import Refused
from schemas.values.base import Listed
from schemas.values.participants import DataSet, FileProblem, Split, TranscriptVariant
from services.data_sets import (
    ImportedParticipants,
    drawn_splits,
    find_data_set,
    import_participants,
    make_splits,
    published_splits,
)
from stages.participants.daic_woz import GENDER_LABEL_FILE, ITEM_LABEL_FILES, TOTAL_LABEL_FILE, parse_data_set
from stages.participants.embed import counted_variants
from stages.participants.splits import PAPER_FILES, parse_listed_splits, split_problems
from stages.participants.transcripts import CLEANED, SPEAKERS, refuse_wrong_variant, variant_of_folder, vary
from stages.records import Parsed, accept
from stages.reports.words import counted
from stages.texts.characters import SHOWN, listed
from store.database import Connection
from store.references.interviews import known, stored_splits


def _default_transcripts() -> str:
    named = environment().get("DATA_TRANSCRIPTS_DIR")
    return str(Path(named).absolute()) if named else DEFAULT_TRANSCRIPTS


DEFAULT_TRANSCRIPTS = "transcripts"

NAMES = {
    **dict.fromkeys(ITEM_LABEL_FILES.values(), "a split with item labels"),
    TOTAL_LABEL_FILE: "a split with total scores",
    GENDER_LABEL_FILE: "a split without labels",
    **dict.fromkeys(PAPER_FILES.values(), "a split of the paper"),
}
"""The files beside the transcripts, relative to the folder, and what each has; each may be absent."""

_PARTICIPANT_FOLDER = re.compile(r"([1-9][0-9]{0,5})_P")


def read_directory(
    directory: Path, *, transcripts: str = DEFAULT_TRANSCRIPTS, patch_missing_items: bool = False
) -> DataSet:
    """Read the data set in a folder; `transcripts` is the folder with the interviews, relative to it, whose name names
    their variant. Participants are the sub-folders named `<id>_P`; what else is there is printed on stderr. Raises
    ProblemsFound with the problems of all files."""
    if not directory.is_dir():
        raise Refused(f"There is no folder {directory} to import. Name one that holds {transcripts}/.")
    folder = directory / transcripts
    if transcripts != DEFAULT_TRANSCRIPTS and not folder.is_dir():
        there = sorted(path.name for path in directory.glob("*transcripts*") if path.is_dir())
        raise Refused(f"There is no folder {folder}. There are: {', '.join(there) or 'none'}.")
    named = {path: _PARTICIPANT_FOLDER.fullmatch(path.name) for path in (folder.iterdir() if folder.is_dir() else ())}
    ids = sorted(int(match[1]) for path, match in named.items() if match and path.is_dir())
    others = sorted(path.name for path, match in named.items() if not match and not path.name.startswith("."))
    if others:
        draw(f"No participant's folder (600_P is one) in {transcripts}: {listed(others)}.", err=True)
    files: dict[str, bytes] = {}
    problems: list[FileProblem] = []
    paths = {f"{folder.name}/{pid}_P/{pid}_TRANSCRIPT.csv": folder / f"{pid}_P/{pid}_TRANSCRIPT.csv" for pid in ids}
    paths |= {name: directory / name for name in NAMES if (directory / name).is_file()}
    for name, path in paths.items():
        try:
            files[name] = read_file(path)
        except FileRefused as error:
            problems.append(FileProblem(name, None, error.found, error.remedy))
    variant = variant_of_folder(folder.name)
    parsed = parse_data_set(files, patch_missing_items=patch_missing_items, variant=variant)
    return accept(Parsed(parsed.value, (*problems, *parsed.problems)))


@group("import")
def import_group() -> None:
    """Import data sets; bad files are refused with every problem named.

    \b
    Example:
        ragq import participants data
        ragq import works books/ --corpus library
        ragq import tags topics/
    """


import_group.add_command(works_command)
import_group.add_command(import_command)


@import_group.command()
@click.argument(
    "directory", required=True, default=lambda: environment().get("DATA_BASE_DIR"), type=click.Path(path_type=Path)
)
@click.option(
    "--transcripts",
    default=_default_transcripts,
    show_default="DATA_TRANSCRIPTS_DIR, else transcripts",
    help="Folder of the interviews, in DIRECTORY or elsewhere. By its name `transcripts` is of the variant raw, "
    "`transcripts_participant_only` of that variant, and any other unknown.",
)
@click.option(
    "--variant",
    type=Choice(CLEANED),
    help="Clean the transcripts and keep these speakers; without it they are kept as they are.",
)
@click.option(
    "--patch-missing-items",
    is_flag=True,
    help="Rebuild a single missing item score as the total minus the seven known ones.",
)
@click.option("--no-splits", is_flag=True, help="Leave the splits as they are: import participants and labels alone.")
@click.option("--name", help="The data set that they belong to; without it the name of the folder.")
@click.option("--replace", is_flag=True, help="Replace what the data set has stored otherwise.")
@json_option
def participants(
    directory: Path,
    transcripts: str,
    variant: TranscriptVariant | None,
    patch_missing_items: bool,
    no_splits: bool,
    name: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Import interviews, labels and splits in the DAIC-WOZ layout.

    DIRECTORY is DATA_BASE_DIR, if that is set and none is named.

    `ragq splits make --paper` makes the paper's splits of a folder without paper_splits/.

    What the data set has stays, labels of others included; another data set may have the same numbers and names of
    splits. An import that would change a stored transcript, label or split is refused, with each named, unless
    --replace is given; runs that were submitted on another transcript then refuse to continue with the new one. The
    variant of each transcript is stored: a run and its reference index have to have the same one.

    \b
    Example:
        ragq import participants data
        ragq import participants data --transcripts transcripts_participant_only
        ragq import participants data --variant participant_only --name data-participant-only
        ragq import participants clinic/second-visit --name clinic
    """
    data_set = read_directory(directory, transcripts=transcripts, patch_missing_items=patch_missing_items)
    tell_unread(directory, NAMES)
    people = data_set.participants.values()
    if strange := [one.id for one in people if any(row.speaker not in SPEAKERS for row in one.utterances)]:
        draw(
            f"Rows of other speakers than {' and '.join(SPEAKERS)} are kept: participants {listed(strange)}.", err=True
        )
    refuse_wrong_variant(people)
    if variant is not None:
        varied = {one.id: vary(one, variant) for one in people}
        data_set = data_set.model_copy(update={"participants": varied})
    imported = with_database(
        import_participants,
        directory.resolve().name if name is None else name,
        data_set,
        with_splits=not no_splits,
        replace_stored=replace,
    )
    if as_json:
        print_json(imported)
        return
    print_text(
        f"Imported {counted(imported.participants, 'participant')}, {imported.labelled} of them with item labels."
    )
    draw(*(f"  {line}" for line in _changes(imported)))
    for notice in _notices(imported):
        draw(notice, err=True)


def _changes(imported: ImportedParticipants) -> Iterator[str]:
    """How much is new, unchanged, changed and conflicting, and what of each participant and split."""
    old = f"{len(imported.unchanged)} unchanged, {len(imported.changed)} changed"
    yield f"data set {imported.data_set}: {len(imported.new)} new, {old}, {len(imported.conflicting)} conflicting"
    lines = [f"participant {number} adds {', '.join(names)}" for number, names in imported.changed.items()]
    lines += [f"participant {number} has another {', '.join(names)}" for number, names in imported.conflicting.items()]
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"and {len(lines) - SHOWN} more; --json has all of them"
    yield f"transcript variant {counted_variants(imported.variants) or 'none'}"
    for split, size in imported.splits.items():
        yield f"split {split}: {size}"
    for number, item in imported.patched_items.items():
        yield f"participant {number}: {item} was rebuilt from the total"


def _notices(imported: ImportedParticipants) -> Iterator[str]:
    """What an import replaced or left out."""
    if imported.conflicting_splits:
        yield (
            f"Replaced: {', '.join(imported.conflicting_splits.values())}. "
            "An index that was built on other participants is to be built again (`ragq index references --wait`)."
        )
    if imported.unknown:
        yield f"Labels of participants whose transcripts are not stored were left out: {listed(imported.unknown)}."


@click.command("demo-data", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--works", is_flag=True, help="Three short works of markdown for a corpus, instead of interviews.")
@click.option("--tags", is_flag=True, help="A vocabulary of forty tags for pictures, instead of interviews.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the folder and what it holds.")
def demo_data(directory: Path, works: bool, tags: bool, as_json: bool) -> None:
    """Write 142 synthetic interviews with PHQ-8 labels and splits, in the DAIC-WOZ layout; or works, or a vocabulary.

    No text in them is from a real person. A folder that holds anything else is left alone.

    \b
    Example:
        ragq demo-data demo-data
        ragq import participants demo-data
        ragq demo-data --works demo-works
        ragq import works demo-works --wait
        ragq demo-data --tags demo-tags
        ragq import tags demo-tags
    """
    if works and tags:
        raise click.UsageError("--works and --tags exclude each other: each writes a separate folder.")
    if works or tags:
        files = packaged_files("works" if works else "vocabulary")
        words = ", ".join(files)
    else:
        files, words = data_set_files(), "142 synthetic interviews"
    write_files(directory, files)
    written = {"directory": str(directory), "files": list(files)}
    print_result(written, f"Wrote {words} to {directory}.", as_json=as_json)


@group("splits")
def splits_group() -> None:
    """Make, list and check the splits of participants.

    \b
    Example:
        ragq splits make --paper
        ragq splits list
    """


@splits_group.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the splits that are stored, how each was made, and what is wrong with it.

    Correct is a split of known participants without overlap, with the paper's ids if it is the paper's. Exit codes: 0
    all correct, 1 problems were found.

    \b
    Example:
        ragq splits list
    """
    found = with_database(_checked)
    if as_json:
        print_json(Listed.whole([dict(split) | {"problems": wrong} for split, wrong in found]))
    elif not found:
        print_text("No split is stored. `ragq import participants DIR` imports those of a data set.", err=True)
    else:
        table = FittingTable("split", Column("participants", justify="right"), "made by", "check", "ids hash", "stored")
        for split, wrong in found:
            check = Text("wrong", "red") if wrong else "correct"
            size, when = len(split.participant_ids), f"{split.imported_at:%Y-%m-%d %H:%M}"
            table.add_row(split.called, size, split.made_by, check, split.ids_hash, when)
        draw(table, *(f"{split.called}: {problem}" for split, wrong in found for problem in wrong))
    if any(wrong for _, wrong in found):
        raise SystemExit(REFUSED)


async def _checked(connection: Connection) -> list[tuple[Split, list[str]]]:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        checked: list[tuple[Split, list[str]]] = []
        for data_set, splits in groupby(await stored_splits(connection), key=attrgetter("data_set")):
            own = list(splits)
            problems = split_problems(own, await known(connection, data_set))
            checked += [(split, problems[split.name]) for split in own]
        return checked


@splits_group.command("make")
@click.option("--paper", is_flag=True, help="paper-train, paper-val and paper-test with the published participants.")
@click.option("--seed", type=int, help="With --paper: a new draw by the paper's rule instead of its participants.")
@click.option(
    "--from", "file", type=FILE, help="The splits that a CSV lists, with the columns Participant_ID and split."
)
@click.option("--data-set", help="Whose splits; needed where several data sets are stored.")
@click.option("--replace", is_flag=True, help="Replace splits of the same names that have other participants.")
@json_option
def make_command(
    paper: bool, seed: int | None, file: Path | None, data_set: str | None, replace: bool, as_json: bool
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
        ragq splits make --from splits.csv
    """
    if paper == (file is not None):
        raise click.UsageError("Name one of --paper and --from FILE. Example: ragq splits make --paper")
    if seed is not None and not paper:
        raise click.UsageError("--seed goes with --paper: it draws the paper's splits anew by their rule.")
    of = with_database(find_data_set, data_set)
    if file is not None:
        parsed = parse_listed_splits(read_file(file), file=file.name)
        made = accept(parsed, of="list of splits", consequence="nothing was stored")
    else:
        made = published_splits() if seed is None else with_database(drawn_splits, of, seed=seed)
    replaced = with_database(make_splits, of, made, replace_stored=replace)
    if as_json:
        sizes = {split.name: {"participants": len(split.participant_ids), "made_by": split.made_by} for split in made}
        print_json({"splits": sizes, "replaced": replaced})
        return
    for split in made:
        size = counted(len(split.participant_ids), "participant")
        mark = " (replaced)" if split.name in replaced else ""
        print_text(f"split {split.name}: {size}, {split.made_by}{mark}")
