"""`ragq run`: names and notes of runs."""

import click

from cli.ids import RUN
from cli.output import json_option, print_json
from cli.session import with_database
from services.runs import RunChanges, change_run
from store.database import Connection
from store.runs import overviews
from store.runs.overviews import RunOverview

_RUN = click.argument("run_id", metavar="RUN", type=RUN)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def run_group() -> None:
    """Name and annotate runs.

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
