"""`ragq export` and `verify`: a run as a file, which is checked without a database."""

from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from cli.config import with_database
from cli.ids import RUN
from cli.options import FILE, Typed
from cli.output import confirm, json_option, print_json, print_text
from schemas.suggestions import age
from services.run_files import check_file, export_run
from services.runs import delete_run
from stages.reports.words import counted, counts_in_words
from store.database import Connection
from store.runs import deletions, overviews
from store.runs.chain import Flaw
from store.runs.chain import audit as audit_run
from store.runs.deletions import DeletedRun


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

    Rows are JSON lines. It has transcripts, quotes, prompts and replies: its owner alone may read it. The run is
    audited first.

    \b
    Example:
        ragq export r12
    """
    path = output or Path(f"r{run_id}.ragq.zip")
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; --force replaces it.")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{path.parent} is no folder.")
    exported = with_database(export_run, run_id, path)
    if as_json:
        print_json(exported)
        return
    print_text(f"{path}")
    print_text(f"r{run_id}: {counts_in_words(exported.rows)}, with their texts.", err=True)
    print_text(f"sha256 {exported.sha256}", err=True)


@click.command()
@click.argument("file", type=FILE)
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
        print_json(found)
    else:
        for problem in found.problems:
            print_text(problem)
        attempts = counted(found.rows.get("attempts", 0), "attempt")
        print_text(f"{attempts} checked, {counted(len(found.problems), 'problem')}.")
        if found.sha256 is not None:
            print_text(f"sha256 {found.sha256}")
    if found.problems:
        raise SystemExit(1)


@click.command()
@click.argument("run_ids", metavar="[RUN]...", type=RUN, nargs=-1)
@json_option
def audit(run_ids: tuple[int, ...], as_json: bool) -> None:
    """Recompute every hash of these runs, or of all: settings, outputs, vectors, requests, the chains of attempts.

    Exit code 1 when one differs. The hashes cover no replies of models, times, workers, private details of errors and
    states of jobs. They find a change that was made without them; somebody who can write to the whole database can
    compute new ones: `ragq export` writes a run to a file that can be kept elsewhere.

    \b
    Example:
        ragq audit r12
    """

    async def audited(connection: Connection) -> dict[int, tuple[int, list[Flaw]]]:
        found = {}
        for run_id in run_ids or await overviews.ids(connection):
            # A transaction, so that a running run is audited as it is at one moment.
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                await overviews.get(connection, run_id)
                found[run_id] = await audit_run(connection, run_id)
        return found

    found = with_database(audited)
    attempts = sum(attempts for attempts, _ in found.values())
    flaws = [(run_id, flaw) for run_id, (_, of_run) in found.items() for flaw in of_run]
    if as_json:
        listed = [{"run": f"r{run_id}", **flaw._asdict()} for run_id, flaw in flaws]
        print_json({"attempts": attempts, "flaws": listed})
    else:
        for run_id, flaw in flaws:
            print_text(str(flaw) if len(found) == 1 else f"r{run_id}: {flaw}")
        runs = "" if len(found) == 1 else f" of {counted(len(found), 'run')}"
        print_text(f"{counted(attempts, 'attempt')}{runs} checked, {counted(len(flaws), 'flaw')}.")
    if flaws:
        raise SystemExit(1)


#: Runs that are named before they are deleted.
_LISTED: Final = 20


def _age(value: str) -> timedelta:
    if (found := age(value)) is None:
        raise ValueError(f"{value!r} is no age; write a number of hours, days or weeks: 12h, 90d, 26w.")
    return found


@click.command("purge")
@click.option("--older-than", type=Typed("AGE", _age), help="Runs that finished longer ago: 12h, 90d, 26w.")
@click.option("--run", "run_id", type=RUN, help="This run alone.")
@click.option("--keep-results", is_flag=True, help="Keep runs, jobs and results; delete what led to them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def purge_command(
    older_than: timedelta | None, run_id: int | None, keep_results: bool, yes: bool, as_json: bool
) -> None:
    """Delete finished runs with all that they stored.

    Runs with an open or paused job are left alone. Model calls that other runs used are kept, and so are reference
    indexes, corpora and vocabularies. With --keep-results reports, answers and candidates stay, while prompts, quotes,
    vectors and the texts of model calls go. This cannot be undone.

    \b
    Example:
        ragq purge --older-than 90d --keep-results
        ragq purge --run r12
    """
    if older_than is None and run_id is None:
        raise click.UsageError("Give --older-than AGE, or --run RUN.")
    since = older_than or timedelta()
    found = with_database(deletions.find, older_than=since, run_id=run_id, keep_results=keep_results)
    if found:
        what = "all but the results of" if keep_results else "all that was stored of"
        listed = ", ".join(f"r{one}" for one in found[:_LISTED]) + (", ..." if len(found) > _LISTED else "")
        confirm(f"Delete {what} {counted(len(found), 'run')} ({listed})?", yes=yes)

    async def purge(connection: Connection) -> list[DeletedRun]:
        done = []
        for one in found:
            done.append(await (deletions.empty if keep_results else delete_run)(connection, one))
            print_text(in_words(done[-1]), err=as_json)
        return done

    done = with_database(purge)
    if as_json:
        print_json({"purged": done})
    print_text(f"{counted(len(done), 'run')} purged.", err=True)


def in_words(one: DeletedRun) -> str:
    """What was deleted of a run, in a line."""
    kept = f"; kept {counted(one.kept_calls, 'model call')} that other runs used" if one.kept_calls else ""
    return f"r{one.run_id}: {counted(one.jobs, 'job')}, {counted(one.calls, 'model call')}{kept}."
