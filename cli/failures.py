"""`ragq failures` and `inspect`: what went wrong in a run, and what was tried."""

from collections.abc import Sequence
from typing import Any

import click

from cli.config import with_database
from cli.ids import JOB, RUN
from cli.output import FittingTable, Text, coloured, draw, json_option, print_json, print_text
from cli.sheets import rows_drawing
from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.runs import FailureSummary, ReportedFailure
from services.listings import attempts_table
from stages.reports.results import failure_list
from stages.reports.words import counted
from store.database import Connection
from store.runs import attempts, jobs, overviews
from store.runs import failures as failures_of
from store.runs.attempts import Attempt
from store.runs.jobs import Job
from store.runs.run_view import job_scores

_COLOURS = {"fatal": "bold red", "error": "red", "warning": "yellow"}


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@json_option
def failures(run_id: int, as_json: bool) -> None:
    """List every failure of a run, oldest first, and count them by category.

    Failures that a later attempt resolved are listed too. Messages hold no transcript text; `ragq inspect JOB STAGE`
    shows what the models were asked and replied.

    \b
    Example:
        ragq failures r12
    """
    summary, listed = with_database(_read, run_id)
    if as_json:
        print_json({"summary": summary, "failures": listed})
    elif not listed:
        draw(f"Nothing went wrong in r{run_id}.", err=True)
    else:
        _print(summary, listed)


async def _read(connection: Connection, run_id: int) -> tuple[FailureSummary, list[ReportedFailure]]:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        run = await overviews.get(connection, run_id)
        failed = await failures_of.run_failures(connection, run_id)
        scored = (await job_scores(connection, [run_id])).get(run_id, ())
        labels = {job.participant_id: job.labels for job in scored}
        return failure_list(run_id, run.created_at, failed, labels)


def _print(summary: FailureSummary, listed: Sequence[ReportedFailure]) -> None:
    table = FittingTable("job", "subject", "stage", "category", "state", "message")
    for failure in listed:
        context, category = failure.context, Text(failure.category, style=_COLOURS[failure.severity])
        state = "resolved" if context["resolved"] else ""
        message = failure.message if failure.phq8_item is None else f"{failure.phq8_item}: {failure.message}"
        table.add_row(context.get("job"), context["subject"], failure.stage, category, state, message)
    draw(table)
    counts = ", ".join(f"{count} {category}" for category, count in summary.by_category.items())
    draw(f"{counted(summary.total_failures, 'failure')}, {summary.unresolved} unresolved: {counts}")


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
