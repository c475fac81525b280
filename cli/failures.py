"""`ragq failures`: what went wrong in a run, or across runs."""

from collections.abc import Sequence
from typing import Any

import click

from cli.config import with_database
from cli.ids import JOB, RUN
from cli.options import Choice
from cli.output import FittingTable, Text, coloured, draw, json_option, print_json, print_text
from cli.sheets import rows_drawing
from schemas.chains import STAGES
from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.runs import FailureCluster, FailureList, failure_kind
from services.listings import attempts_table
from stages.reports.results import failure_list
from stages.reports.tables import Moment
from stages.reports.words import counted
from store.database import Connection
from store.runs import attempts, jobs, overviews
from store.runs import failures as failures_of
from store.runs.attempts import Attempt
from store.runs.jobs import Job
from store.runs.run_view import job_scores

#: Runs that are looked at where none is named.
_NEWEST = 20

_COLOURS = {"fatal": "bold red", "error": "red", "warning": "yellow"}


@click.command()
@click.argument("run_ids", metavar="[RUN]...", type=RUN, nargs=-1)
@click.option("--stage", type=Choice(STAGES), help="Only failures of this stage.")
@click.option("--type", "error_type", metavar="TYPE", help="Only failures with this exception or category.")
@click.option("--clusters", is_flag=True, help="Of one run too: one line per type, stage and cause.")
@json_option
def failures(
    run_ids: tuple[int, ...], stage: str | None, error_type: str | None, clusters: bool, as_json: bool
) -> None:
    """List every failure of a run, oldest first; of several runs, or of the newest 20, group them by cause.

    A cluster has the failures of one type in one stage whose messages differ in numbers alone; `ragq retry RUN --stage
    STAGE --type TYPE` retries its jobs. Failures that a later attempt resolved are listed too. Messages hold no
    transcript text; `ragq inspect JOB STAGE` shows what the models were asked and replied.

    \b
    Example:
        ragq failures r12
        ragq failures
        ragq failures r12 r15 --stage validate
        ragq failures r12 --type LLMResponseParseError
    """
    if len(run_ids) == 1 and not (clusters or stage or error_type):
        found = with_database(_read, run_ids[0])
        if as_json:
            print_json(found)
        elif not found.failures:
            draw(f"Nothing went wrong in r{run_ids[0]}.", err=True)
        else:
            _print(found)
        return

    runs, found_clusters = with_database(_clusters, run_ids, stage, error_type)
    if as_json:
        print_json({"runs": [f"r{run_id}" for run_id in runs], "clusters": found_clusters})
    elif not found_clusters:
        draw(f"No such failure in {counted(len(runs), 'run')}.", err=True)
    else:
        _print_clusters(len(runs), found_clusters)


async def _clusters(
    connection: Connection, run_ids: Sequence[int], stage: str | None, error_type: str | None
) -> tuple[list[int], list[FailureCluster]]:
    for run_id in run_ids:
        await overviews.get(connection, run_id)
    wanted = list(run_ids) or [run.id for run in await overviews.overviews(connection, limit=_NEWEST)]
    return wanted, await failures_of.clusters(connection, wanted, stage=stage, error_type=error_type)


def _print_clusters(runs: int, found: Sequence[FailureCluster]) -> None:
    table = FittingTable("stage", "category", "failures", "jobs failed", "runs", "last", "cause")
    for one in found:
        kind, last = failure_kind(one.type, one.category), f"{one.last_job} {Moment(one.last_at)}"
        failed = f"{one.failed_jobs} of {one.jobs}"
        table.add_row(one.stage, kind, one.failures, failed, ", ".join(one.runs), last, one.cause)
    draw(table)
    total = sum(cluster.failures for cluster in found)
    draw(f"{counted(total, 'failure')} in {counted(len(found), 'cluster')} of {counted(runs, 'run')}")


async def _read(connection: Connection, run_id: int) -> FailureList:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        run = await overviews.get(connection, run_id)
        failed = await failures_of.run_failures(connection, run_id)
        jobs_of_run = (await job_scores(connection, [run_id])).get(run_id, ())
        labels = {job.participant_id: job.labels for job in jobs_of_run if job.is_to_score}
        return failure_list(run_id, run.created_at, failed, labels)


def _print(found: FailureList) -> None:
    table = FittingTable("job", "subject", "stage", "category", "state", "message")
    for failure in found.failures:
        context, category = failure.context, Text(failure.category, style=_COLOURS[failure.severity])
        state = "resolved" if context["resolved"] else ""
        message = failure.message if failure.phq8_item is None else f"{failure.phq8_item}: {failure.message}"
        table.add_row(context.get("job"), context["subject"], failure.stage, category, state, message)
    draw(table)
    counts = ", ".join(f"{count} {category}" for category, count in found.summary.by_category.items())
    failures = counted(found.summary.total_failures, "failure")
    draw(f"{failures}, {found.summary.unresolved} unresolved: {counts}")


@click.command()
@click.argument("job_id", metavar="JOB", type=JOB)
@click.argument("stage", required=False)
@json_option
def inspect(job_id: int, stage: str | None, as_json: bool) -> None:
    """Show the attempts of a job, or input, output, errors and model calls of one of its stages.

    The output contains sensitive text: what subjects said and what models answered.

    \b
    Example:
        ragq inspect j345
        ragq inspect j345 validate --json
    """
    job, stages, tried = with_database(_inspected, job_id, stage)
    if as_json:
        print_json({"job": job, "stages": stages, "stage": stage, "attempts": tried})
    elif stage is None:
        _print_overview(job, tried)
    else:
        _print_stage(tried)


async def _inspected(connection: Connection, job_id: int, stage: str | None) -> tuple[Job, list[str], list[Attempt]]:
    job = await jobs.get(connection, job_id)
    stages = [run.stage for run in (await jobs.of_jobs(connection, [job_id]))[job_id]]
    tried = await attempts.history(connection, job_id, stage)
    if stage is not None and stage not in stages and not tried:
        suggestion = did_you_mean(stage, stages)
        raise Refused(f"Job j{job_id} has no stage '{stage}'.{suggestion} Its stages: {', '.join(stages)}.")
    return job, stages, tried


def _print_overview(job: Job, tried: Sequence[Attempt]) -> None:
    identity = f" of r{job.run_id}  {job.subject}  {job.mode}  "
    draw(Text.assemble((f"j{job.id}", "bold"), identity, coloured(job.status)))
    draw(rows_drawing(attempts_table(tried)))


def _print_stage(tried: Sequence[Attempt]) -> None:
    for attempt in tried:
        heading = f"{attempt.stage} attempt {attempt.number}: {attempt.outcome}, {attempt.seconds:.2f} s"
        draw(Text(heading, "bold"))
        _print_part("input", attempt.inputs)
        if attempt.output is not None:
            _print_part("output", attempt.output)
        if (error := attempt.error) is not None:
            draw("", Text("error", "bold red"))
            print_text(f"{error.type} ({error.category}): {error.message}")
            print_json(error.details)
        for call in attempt.calls:
            rejected = ", reply rejected" if call.is_rejected else ""
            spent = "" if call.is_reused else f", {call.seconds:.2f} s"
            about = f"{call.model} at {call.server}, {call.origin}{spent}{rejected}"
            draw("", Text(f"call {call.call_id}: {call.purpose} ({about})", "bold"))
            print_text(call.reply or "")
        draw("")


def _print_part(name: str, value: Any) -> None:
    draw("", Text(name, "bold"))
    print_json(value)
