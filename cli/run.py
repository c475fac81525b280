"""`ragq run`: names, notes, and deletion of runs."""

import click

from cli.ids import RUN
from cli.output import json_option, print_json, print_result
from cli.session import with_database
from services.runs import RunChanges, change_run, delete_run
from stages.reports.numbers_in_words import counted
from stages.reports.run_words import asked_for
from store.database import Connection
from store.runs import overviews
from store.runs.deletions import DeletedRun
from store.runs.overviews import RunOverview

_RUN = click.argument("run_id", metavar="RUN", type=RUN)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def run_group() -> None:
    """Name, annotate and delete runs.

    A name can be given wherever a command takes the number of a run.

    \b
    Example:
        ragq run rename r12 baseline
        ragq report baseline
    """


@run_group.command("rename")
@_RUN
@click.argument("name", required=False)
@click.option("--remove", is_flag=True, help="Remove the name.")
@json_option
def rename_command(run_id: int, name: str | None, remove: bool, as_json: bool) -> None:
    """Give a run a name, which no other run has.

    \b
    Example:
        ragq run rename r12 "few-shot, 4 references"
        ragq run rename r12 --remove
    """
    _change(run_id, {"name": _given(name, remove, "NAME")}, as_json=as_json)


@run_group.command("note")
@_RUN
@click.argument("text", required=False)
@click.option("--remove", is_flag=True, help="Remove the note.")
@json_option
def note_command(run_id: int, text: str | None, remove: bool, as_json: bool) -> None:
    """Write a note about a run, in place of the one that it has; `ragq show` and the page of the run show it.

    \b
    Example:
        ragq run note r12 "the threshold of the paper, with a larger model"
        ragq run note r12 --remove
    """
    _change(run_id, {"note": _given(text, remove, "TEXT")}, as_json=as_json)


@run_group.command("delete")
@_RUN
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(run_id: int, yes: bool, as_json: bool) -> None:
    """Delete a finished run: its jobs and all that they stored, its questions with their answers, and its phrases.

    Model calls that other runs used are kept, and so are reference indexes, vectors and chunk scores that the run
    published. This cannot be undone.

    \b
    Example:
        ragq run delete r12
        ragq run delete r12 --yes
    """
    found = with_database(lambda connection: overviews.get(connection, run_id))
    if not yes:
        asked = " ".join(part for part in (found.kind, asked_for(found.request)) if part)
        click.confirm(
            f"Delete {found.title} ({asked}) with {counted(found.jobs, 'job')} and all that they stored?",
            abort=True,
            err=True,
        )
    deleted = with_database(lambda connection: delete_run(connection, run_id))
    print_result(deleted, deleted_in_words(deleted, found.title), as_json=as_json)


def deleted_in_words(deleted: DeletedRun, title: str) -> str:
    """What a deletion removed and what it kept, in two lines at most."""
    counts = {
        "job": deleted.jobs,
        "attempt": deleted.attempts,
        "question": deleted.questions,
        "answer": deleted.answers,
        "model call": deleted.calls,
    }
    kept = [f"{counted(deleted.kept_calls, 'model call')} that other runs used"] if deleted.kept_calls else []
    kept += [f"reference index {name}" for name in deleted.kept_indexes]
    lines = [f"Deleted {title}: {', '.join(counted(count, noun) for noun, count in counts.items() if count)}."]
    return "\n".join([*lines, *([f"Kept: {', '.join(kept)}."] if kept else [])])


def _given(words: str | None, remove: bool, metavar: str) -> str | None:
    if (words is None) is not remove:
        raise click.UsageError(f"Give {metavar}, or --remove.")
    return words


def _change(run_id: int, changes: RunChanges, *, as_json: bool) -> None:
    async def changed(connection: Connection) -> RunOverview:
        await change_run(connection, run_id, changes)
        return await overviews.get(connection, run_id)

    found = with_database(changed)
    if as_json:
        print_json({"run_id": f"r{run_id}", "name": found.name, "note": found.note})
        return
    what = "name" if "name" in changes else "note"
    click.echo(f"{found.title}: {what} {'removed' if getattr(found, what) is None else 'stored'}.")
