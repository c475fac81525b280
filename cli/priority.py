"""`ragq priority`: how often the jobs of a run have a turn."""

from dataclasses import asdict

import click

from cli.choices import Choice
from cli.ids import RUN
from cli.output import json_option, print_result
from cli.session import with_database
from schemas.statuses import Priority
from services.runs import change_run
from store.database import Connection
from store.runs import overviews
from store.runs.overviews import RunOverview

LEVEL = Choice([level.value for level in Priority])


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@click.argument("level", type=LEVEL)
@json_option
def priority(run_id: int, level: str, as_json: bool) -> None:
    """Change how often the jobs of a run have a turn: interactive, normal or bulk.

    Where several runs wait for the same workers, of 21 jobs that start 16 are of an interactive run, 4 of a normal one
    and 1 of a bulk one. Jobs that have started keep the priority they have; indexing comes after other work in any
    case. `ragq runs` shows the share of each run.

    \b
    Example:
        ragq priority r12 bulk
        ragq priority baseline interactive
    """

    async def change(connection: Connection) -> RunOverview:
        await change_run(connection, run_id, {"priority": Priority(level)})
        return await overviews.get(connection, run_id)

    changed = with_database(change)
    shown = {"run": f"r{run_id}", "priority": level, "share": changed.share and asdict(changed.share)}
    print_result(shown, f"r{run_id}: {changed.turns or level}.", as_json=as_json)
