"""`ragq submit`: store a run and send it to the workers."""

import json
from pathlib import Path
from typing import Any

import click

from cli.output import print_json
from cli.session import application, with_database
from cli.settings_options import effective_settings, settings_options
from cli.watch import follow
from schemas.errors import Refused
from schemas.values.phq8 import AssessmentMode
from store.database import Connection
from workers.submissions.participants import ParticipantRequest, plan_participants
from workers.submissions.submit import Submitted
from workers.submissions.submit import submit as submit_run


class ParticipantIds(click.ParamType[tuple[int, ...]]):
    """Numbers with commas between them."""

    name = "ID,ID..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(number) for number in value.split(","))
        except ValueError:
            self.fail(f"'{value}' is not a list of participant numbers; write it like 316,319.", param, ctx)


@click.command()
@click.option("--split", help="Participants of this split, in the order of its file.")
@click.option("--participants", type=ParticipantIds(), help="These participants instead of a split.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N participants of the split.")
@click.option("--few-shot-only", is_flag=True, help="Only with references.")
@click.option("--zero-shot-only", is_flag=True, help="Only without references.")
@click.option(
    "--evidence",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file of ready-made quotes: participant id -> PHQ8_* key -> list of quotes.",
)
@click.option("--until", metavar="STAGE", help="Stop after this stage, `assemble` say; the rest is never run.")
@settings_options
@click.option("--retries", type=click.IntRange(0, 10), help="Times a transport error is tried again by itself.")
@click.option("--new", "always_new", is_flag=True, help="Store a new run even if the same work was submitted before.")
@click.option("--wait", is_flag=True, help="Follow the run until it comes to rest.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def submit(
    split: str | None,
    participants: tuple[int, ...] | None,
    limit: int | None,
    few_shot_only: bool,
    zero_shot_only: bool,
    evidence: Path | None,
    until: str | None,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    retries: int | None,
    always_new: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Submit participants of a split as a run: one job per participant and mode.

    Both modes run unless one is chosen. The same submission again finds its run: failed jobs of it go on, and
    nothing that is stored is computed twice; --new forces another run.

    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 some jobs failed (with --wait).

    \b
    Example:
        ragq submit --split paper-test --few-shot-only --limit 3 --wait
        ragq submit --participants 316,319 --set EMBEDDING_TOP_K_REFERENCES=3 --json
    """
    if (split is None) == (participants is None):
        raise click.UsageError("Name either --split or --participants. Example: ragq submit --split paper-test")
    if few_shot_only and zero_shot_only:
        raise click.UsageError("--few-shot-only and --zero-shot-only exclude each other; leave both out for both.")
    if limit is not None and split is None:
        raise click.UsageError("--limit goes with --split; name fewer participants instead.")
    if retries is not None:
        assignments = (*assignments, ("RAGQ_RETRIES", str(retries)))
    request = ParticipantRequest(
        split=split,
        participants=participants or (),
        modes=_modes(few_shot_only, zero_shot_only),
        limit=limit,
        until=until,
        evidence=None if evidence is None else read_evidence(evidence),
    )
    settings = effective_settings(profile, assignments)
    app = application()

    async def store(connection: Connection) -> Submitted:
        run = await plan_participants(connection, request, settings)
        return await submit_run(connection, app, run, always_new=always_new)

    submitted = with_database(store)
    tell(submitted, profile=settings.profile, why=settings.profile_source)
    if wait:
        follow(submitted.run_id, as_json=as_json)
    elif as_json:
        print_json(_as_json(submitted))
    else:
        click.echo(f"r{submitted.run_id}")


def tell(submitted: Submitted, *, profile: str, why: str) -> None:
    """Say on stderr what became of a submission."""
    run = f"r{submitted.run_id}"
    if submitted.is_new:
        click.echo(f"{run}: {submitted.jobs} jobs stored, profile {profile} ({why}).", err=True)
    elif submitted.resumed:
        click.echo(f"{run} did this work before; {submitted.resumed} of its {submitted.jobs} jobs go on.", err=True)
    else:
        click.echo(f"{run} does or did this work already; nothing new was stored. --new forces another run.", err=True)
    if submitted.sent < submitted.due:
        click.echo(
            f"The broker cannot be reached: {submitted.due - submitted.sent} jobs are stored and start by themselves "
            "when it is back.",
            err=True,
        )


def read_evidence(path: Path) -> dict[str, Any]:
    """The object in an evidence file. Raises Refused, naming the place, when it is not a JSON object."""
    try:
        evidence = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        place = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(f"{path}{place}: not JSON in UTF-8; write an object of participants.") from None
    if not isinstance(evidence, dict):
        raise Refused(f"{path}: found {type(evidence).__name__}; write an object: participant id -> item -> quotes.")
    return evidence


def _modes(few_shot_only: bool, zero_shot_only: bool) -> tuple[AssessmentMode, ...]:
    if few_shot_only:
        return (AssessmentMode.FEW_SHOT,)
    if zero_shot_only:
        return (AssessmentMode.ZERO_SHOT,)
    return (AssessmentMode.ZERO_SHOT, AssessmentMode.FEW_SHOT)


def _as_json(submitted: Submitted) -> dict[str, Any]:
    return {"run": f"r{submitted.run_id}", **submitted._asdict()}
