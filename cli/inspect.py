"""`ragq inspect`: everything that was stored about a job."""

from dataclasses import dataclass
from typing import Any

import click

from cli.drawing import Text, plain_table
from cli.ids import JOB
from cli.output import coloured, draw, json_option, print_json, print_text
from cli.session import with_database
from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from store.database import Connection
from store.runs import jobs, stage_runs
from store.runs.jobs import Job
from store.views.attempt_traces import AttemptTrace, attempt_traces


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
    found = with_database(lambda connection: _read(connection, job_id, stage))
    if as_json:
        print_json(found)
    elif stage is None:
        _print_overview(found)
    else:
        _print_stage(found)


@dataclass(frozen=True, kw_only=True)
class Inspected:
    """A job and its attempts, of all stages or of one."""

    job: Job
    stages: list[str]
    stage: str | None
    attempts: list[AttemptTrace]


async def _read(connection: Connection, job_id: int, stage: str | None) -> Inspected:
    job = await jobs.get(connection, job_id)
    stages = [run.stage for run in (await stage_runs.of_jobs(connection, [job_id]))[job_id]]
    tried = await attempt_traces(connection, job_id, stage)
    if stage is not None and stage not in stages and not tried:
        suggestion = did_you_mean(stage, stages)
        raise Refused(f"Job j{job_id} has no stage '{stage}'.{suggestion} Its stages: {', '.join(stages)}.")
    return Inspected(job=job, stages=stages, stage=stage, attempts=tried)


def _print_overview(found: Inspected) -> None:
    job = found.job
    identity = f" of r{job.run_id}  {job.subject}  {job.mode}  "
    draw(Text.assemble((f"j{job.id}", "bold"), identity, coloured(job.status)))
    table = plain_table("stage", "attempt", "outcome", "seconds", "worker", "LLM calls", "vectors", "error")
    for attempt in found.attempts:
        table.add_row(
            attempt.stage,
            str(attempt.number),
            coloured(attempt.outcome),
            f"{attempt.seconds:.2f}",
            attempt.worker_id,
            f"{attempt.paid}" + (f" (+{attempt.reused} reused)" if attempt.reused else ""),
            str(attempt.vectors or ""),
            attempt.error_message or "",
        )
    draw(table)


def _print_stage(found: Inspected) -> None:
    for attempt in found.attempts:
        heading = f"{attempt.stage} attempt {attempt.number}: {attempt.outcome}, {attempt.seconds:.2f} s"
        draw(Text(heading, "bold"))
        _print_part("input", attempt.inputs)
        if attempt.output is not None:
            _print_part("output", attempt.output)
        if attempt.error_type is not None:
            draw("", Text("error", "bold red"))
            print_text(f"{attempt.error_type} ({attempt.error_category}): {attempt.error_message}")
            print_json(attempt.error_details)
        for call in attempt.calls:
            rejected = ", reply rejected" if call.is_rejected else ""
            spent = "" if call.is_reused else f", {call.seconds:.2f} s"
            about = f"{call.model} at {call.server}, {call.origin}{spent}{rejected}"
            draw("", Text(f"call {call.call_id}: {call.purpose} ({about})", "bold"))
            print_text(call.reply)
        draw("")


def _print_part(name: str, value: Any) -> None:
    draw("", Text(name, "bold"))
    print_json(value)
