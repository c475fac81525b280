"""`ragq failures`: what went wrong in a run."""

import click
from rich.text import Text

from cli.ids import RUN
from cli.output import console, notices, plain_table, print_json
from cli.session import with_database
from schemas.errors import RunMissingError
from schemas.values.failures import FailureList, ReportedFailure
from stages.reports.failures import failure_list
from stages.reports.numbers_in_words import counted
from store.database import Connection
from store.runs import scored_runs
from store.runs.failures import run_failures

_COLOURS = {"fatal": "bold red", "error": "red", "warning": "yellow"}


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: summary and failures.")
def failures(run_id: int, as_json: bool) -> None:
    """List every failure of a run, oldest first, including those that a later attempt resolved.

    Messages hold no transcript text; `ragq inspect JOB STAGE` shows the details.

    \b
    Example:
        ragq failures r12
        ragq failures r12 --json
    """
    found = with_database(lambda connection: _read(connection, run_id))
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif not found.failures:
        notices().print(f"Nothing went wrong in r{run_id}.")
    else:
        _print(found)


async def _read(connection: Connection, run_id: int) -> FailureList:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = await run_failures(connection, run_id)
        if found is None:
            raise RunMissingError(run_id)
        return failure_list(found, await scored_runs.labels(connection, run_id))


def _print(found: FailureList) -> None:
    table = plain_table("job", "subject", "stage", "category", "state", "message")
    for failure in found.failures:
        table.add_row(
            failure.context.job or "",
            failure.context.subject or "",
            failure.stage or "",
            Text(failure.category, style=_COLOURS[failure.severity]),
            "resolved" if failure.context.resolved else "",
            Text(_message(failure)),
        )
    console().print(table)
    counts = ", ".join(f"{count} {category}" for category, count in found.summary.by_category.items())
    failures = counted(found.summary.total_failures, "failure")
    console().print(f"{failures}, {found.summary.unresolved} unresolved: {counts}", highlight=False)


def _message(failure: ReportedFailure) -> str:
    return failure.message if failure.phq8_item is None else f"{failure.phq8_item}: {failure.message}"
