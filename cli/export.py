"""`ragq export` and `verify`: a run as a file, which is checked without a database."""

from dataclasses import asdict
from pathlib import Path

import click

from cli.ids import RUN
from cli.output import json_option, print_json, print_text
from cli.session import with_database
from services.run_files import check_file, export_run
from stages.reports.numbers_in_words import counted


@click.command(name="export")
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: rN.ragq.zip]",
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@json_option
def export_command(run_id: int, output: Path | None, force: bool, as_json: bool) -> None:
    """Write a finished run to one file: rows, settings, versions and hashes.

    Rows are JSON lines, and Parquet too where pyarrow is installed. It has transcripts, quotes, prompts and replies:
    its owner alone may read it. The run is audited first.

    \b
    Example:
        ragq export r12
    """
    path = output or Path(f"r{run_id}.ragq.zip")
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; --force replaces it.")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{path.parent} is no folder.")
    exported = with_database(lambda connection: export_run(connection, run_id, path))
    if as_json:
        print_json(asdict(exported))
        return
    print_text(f"{path}")
    rows = ", ".join(f"{count} {table}" for table, count in exported.rows.items() if count)
    print_text(f"r{run_id}: {rows}; {exported.bytes} bytes, with their texts.", err=True)
    print_text(f"sha256 {exported.sha256}", err=True)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def verify(file: Path, as_json: bool) -> None:
    """Recompute every hash of a run's file without a database. Exit code 1 when one differs.

    Somebody who writes the whole file can write all hashes anew: compare its sha256 with what its maker published.

    \b
    Example:
        ragq verify r12.ragq.zip
    """
    found = check_file(file)
    if as_json:
        print_json(asdict(found))
    else:
        for problem in found.problems:
            print_text(problem)
        print_text(f"{counted(found.attempts, 'attempt')} checked, {counted(len(found.problems), 'problem')}.")
        if found.sha256 is not None:
            print_text(f"sha256 {found.sha256}")
    if found.problems:
        raise SystemExit(1)
