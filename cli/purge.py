"""`ragq purge`: old runs deleted, or emptied but for their results."""

from datetime import timedelta
from typing import Any, Final

import click

from cli.ids import RUN
from cli.output import confirm, json_option, print_json, print_text
from cli.session import with_database
from schemas.chains import CHAINS
from schemas.statuses import JobStatus
from schemas.suggestions import age
from stages.reports.numbers_in_words import counted
from store.database import Connection
from store.runs import purging
from store.runs.purging import Criteria, Purged

_KINDS: Final = sorted({kind for kind, _ in CHAINS})
_FINISHED: Final = [status.value for status in JobStatus if not status.is_open and status is not JobStatus.PAUSED]


class _Age(click.ParamType[timedelta]):
    name = "AGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        if (found := age(value)) is None:
            self.fail(f"{value!r} is no age; write a number of hours, days or weeks: 12h, 90d, 26w.", param, ctx)
        return found


@click.command("purge")
@click.option("--older-than", type=_Age(), help="Runs that finished longer ago: 12h, 90d, 26w.")
@click.option("--run", "run_id", type=RUN, help="This run alone.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Runs of this kind alone.",
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(_FINISHED),
    multiple=True,
    help="Runs whose jobs are all in this state.",
)
@click.option("--keep-results", is_flag=True, help="Keep runs, jobs and results; delete what led to them.")
@click.option("--dry-run", is_flag=True, help="Show what would be purged, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def purge_command(
    older_than: timedelta | None,
    run_id: int | None,
    kinds: tuple[str, ...],
    statuses: tuple[str, ...],
    keep_results: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete finished runs with all that they stored.

    Runs with an open or paused job are left alone. Model calls that
    other runs used are kept, and so are reference indexes, corpora and vocabularies. With --keep-results reports,
    answers and candidates stay, while prompts, quotes, vectors and the texts of model calls go. This cannot be undone.

    \b
    Example:
        ragq purge --older-than 90d --keep-results --dry-run
        ragq purge --older-than 26w --kind query --status failed --yes
        ragq purge --run r12
    """
    if older_than is None and run_id is None:
        raise click.UsageError("Give --older-than AGE, or --run RUN.")
    criteria = Criteria(
        older_than=older_than or timedelta(),
        run_id=run_id,
        kinds=kinds,
        statuses=statuses,
        keep_results=keep_results,
    )
    found = with_database(lambda connection: purging.find(connection, criteria))
    jobs = counted(sum(run.jobs for run in found), "job")
    if dry_run:
        if as_json:
            print_json({"runs": [{"run": f"r{run.id}", "kind": run.kind, "jobs": run.jobs} for run in found]})
            return
        for run in found:
            print_text(f"r{run.id} {run.kind}, {counted(run.jobs, 'job')}")
        print_text(f"{counted(len(found), 'run')} with {jobs} would be purged.", err=True)
        return
    if found and not yes:
        what = "all but the results of" if keep_results else "all that was stored of"
        confirm(f"Delete {what} {counted(len(found), 'run')} with {jobs}?")

    async def purge(connection: Connection) -> list[Purged]:
        done = []
        for run in found:
            done.append(await purging.purge(connection, run, keep_results=keep_results))
            print_text(in_words(done[-1], keep_results=keep_results), err=as_json)
        return done

    done = with_database(purge)
    if as_json:
        print_json({"purged": done})
    print_text(f"{counted(len(done), 'run')} purged.", err=True)


def in_words(one: Purged, *, keep_results: bool) -> str:
    """What was purged of a run, in a line."""
    gone = counted(one.attempts, "output" if keep_results else "attempt")
    kept = f"; kept {counted(one.kept_calls, 'model call')} that other runs used" if one.kept_calls else ""
    return f"r{one.run_id}: {counted(one.jobs, 'job')}, {gone}, {counted(one.calls, 'model call')}{kept}."
