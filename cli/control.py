"""`ragq retry`, `pause`, `resume` and `cancel`: what people decide about runs and jobs."""

from collections.abc import Awaitable, Callable

import click

from cli.ids import TARGET, Target
from cli.output import print_json
from cli.session import application, with_database
from schemas.errors import Refused
from schemas.statuses import JobStatus
from store import runs
from store.database import Connection
from workers import dispatch

_NOTE = click.option("--note", help="Why, in your words; shown with the jobs.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@_JSON
def retry(target: Target, as_json: bool) -> None:
    """Let failed and poisoned jobs go on at the stage that failed; stored outputs and paid calls are not repeated.

    \b
    Example:
        ragq retry r12
        ragq retry j345
    """
    _go_on(target, "retried", as_json, lambda connection: runs.retry(connection, **target._asdict()))


@click.command()
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@_JSON
def resume(target: Target, as_json: bool) -> None:
    """Let paused jobs go on.

    \b
    Example:
        ragq resume r12
    """
    _go_on(target, "resumed", as_json, lambda connection: runs.resume(connection, **target._asdict()))


@click.command()
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@_NOTE
@_JSON
def pause(target: Target, note: str | None, as_json: bool) -> None:
    """Hold open jobs back; what a worker computes at the moment is still stored.

    \b
    Example:
        ragq pause r12 --note "the GPU is needed elsewhere"
    """
    _hold(target, JobStatus.PAUSED, note, as_json)


@click.command()
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@_NOTE
@_JSON
def cancel(target: Target, note: str | None, as_json: bool) -> None:
    """End open and paused jobs; what was stored stays readable.

    \b
    Example:
        ragq cancel r12 --note "wrong split"
    """
    _hold(target, JobStatus.CANCELLED, note, as_json)


def _go_on(target: Target, verb: str, as_json: bool, change: Callable[[Connection], Awaitable[list[int]]]) -> None:
    app = application()

    async def go_on(connection: Connection) -> tuple[list[int], int]:
        await _refuse_unknown(connection, target)
        job_ids = await change(connection)
        return job_ids, dispatch.send(app, await runs.routes(connection, job_ids))

    job_ids, sent = with_database(go_on)
    _tell(target, verb, job_ids, as_json)
    if sent < len(job_ids):
        click.echo("The broker cannot be reached; the jobs start by themselves when it is back.", err=True)


def _hold(target: Target, status: JobStatus, note: str | None, as_json: bool) -> None:
    async def hold(connection: Connection) -> list[int]:
        await _refuse_unknown(connection, target)
        return await runs.hold(connection, status, note, **target._asdict())

    _tell(target, status.value, with_database(hold), as_json)


async def _refuse_unknown(connection: Connection, target: Target) -> None:
    if not await runs.exists(connection, **target._asdict()):
        what = "Run" if target.job_id is None else "Job"
        raise Refused(f"{what} {target} does not exist. `ragq runs` lists the runs, `ragq show RUN` their jobs.")


def _tell(target: Target, verb: str, job_ids: list[int], as_json: bool) -> None:
    if not job_ids:
        raise Refused(
            f"No job of {target} can be {verb}: none is in a state for it. `ragq show RUN` tells their states."
        )
    if as_json:
        print_json({"target": str(target), "action": verb, "jobs": [f"j{job_id}" for job_id in job_ids]})
    else:
        click.echo(f"{len(job_ids)} jobs of {target} {verb}.")
