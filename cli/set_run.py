"""`ragq set`: name, note and priority of a run."""

from dataclasses import asdict

import click

from cli.choices import Choice
from cli.ids import RUN
from cli.output import json_option, print_result
from cli.session import with_database
from schemas.statuses import Priority
from services.runs import RunChanges, change_run
from store.database import Connection
from store.runs import overviews
from store.runs.overviews import RunOverview

LEVEL = Choice([level.value for level in Priority])


@click.command("set")
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option("--name", help="A name that no other run has; '' removes it.")
@click.option("--note", help="A note in place of the one that it has; '' removes it.")
@click.option("--priority", type=LEVEL, help="How often its jobs have a turn.")
@json_option
def set_command(run_id: int, name: str | None, note: str | None, priority: str | None, as_json: bool) -> None:
    """Change name, note and priority of a run.

    A name can be given wherever a command takes the number of a run. Where several runs wait for the same workers, of
    21 jobs that start 16 are of an interactive run, 4 of a normal one and 1 of a bulk one; jobs that have started keep
    the priority they have, and indexing comes after other work in any case.

    \b
    Example:
        ragq set r12 --name baseline --note "the threshold of the paper"
        ragq set baseline --priority bulk
    """
    changes: RunChanges = {}
    if name is not None:
        changes["name"] = name or None
    if note is not None:
        changes["note"] = note or None
    if priority is not None:
        changes["priority"] = Priority(priority)
    if not changes:
        raise click.UsageError("Give --name, --note or --priority.")

    async def changed(connection: Connection) -> RunOverview:
        await change_run(connection, run_id, changes)
        return await overviews.get(connection, run_id)

    found = with_database(changed)
    shown = {"run": f"r{run_id}", "name": found.name, "note": found.note, "priority": found.priority}
    turns = f", {found.turns}" if priority and found.turns else ""
    print_result(
        shown | {"share": found.share and asdict(found.share)},
        f"{found.title}: {', '.join(changes)} stored{turns}.",
        as_json=as_json,
    )
