"""`ragq import-results`: results of ai-psychiatrist as runs."""

import hashlib
from pathlib import Path

import click

from cli.output import draw, print_json
from cli.session import with_database
from cli.user_files import read_file
from schemas.errors import Refused
from services.imported_results import ImportedResults, ResultsFile, import_results
from stages.participants.original_results import parse_original_run
from stages.reports.numbers_in_words import counted
from stages.reports.run_words import notices_of_import
from stages.texts.listed import first_lines
from store.database import Connection


@click.command("import-results")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, one object per file.")
def import_results_command(files: tuple[Path, ...], as_json: bool) -> None:
    """Store the results files of ai-psychiatrist as runs, which `ragq report` and `ragq diff` take.

    Scores, signals and ground truth are those of the file, and every table and report of the run shows that ragq
    computed none of them. Metrics that the file states are compared with those of its items, and its ground truth with
    the labels that are stored; what differs is printed. The same file again finds its run.

    \b
    Example:
        ragq import-results data/outputs/both_paper-test_20260107_120000.json
        ragq diff r12 r15
    """
    read = [_read(path) for path in files]

    async def store(connection: Connection) -> list[ImportedResults]:
        async with connection.transaction():
            return [await import_results(connection, file) for file in read]

    done = with_database(store)
    if as_json:
        print_json([{"run": f"r{one.run_id}", **one._asdict()} for one in done])
    for file, one in zip(read, done, strict=True):
        if not as_json:
            click.echo(_words(file, one))
        for notice in notices_of_import({"imported": one.record}):
            draw(f"r{one.run_id}: {notice}", err=True)


def _words(file: ResultsFile, one: ImportedResults) -> str:
    if not one.is_new:
        return f"r{one.run_id}: {file.name} was imported before; nothing new was stored."
    modes = ", ".join(
        f"{counted(count, 'participant')} in {mode}" + (f" ({one.failed[mode]} failed)" if one.failed[mode] else "")
        for mode, count in one.participants.items()
    )
    return f"r{one.run_id}: {modes}"


def _read(path: Path) -> ResultsFile:
    data = read_file(path)
    run, problems = parse_original_run(data, file=path.name)
    if run is None:
        lines = first_lines(problems)
        raise Refused(f"The results cannot be used; nothing was imported.\n{lines}")
    return ResultsFile(path.name, hashlib.sha256(data).hexdigest(), run)
