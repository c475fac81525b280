"""`ragq fork`: stored work computed again from a stage on, by other settings."""

from functools import partial
from typing import Any

import click

from cli.config import with_database, with_open_database
from cli.ids import RUN, TARGET
from cli.new_runs import conclude, print_estimates, report_stored, run_options
from cli.options import Choice, Typed, request_options, requested, values_option
from cli.output import json_option, print_result, print_text
from schemas.chains import STAGES
from schemas.statuses import Priority
from schemas.values.requests import RunChanges
from schemas.values.runs import RunLimits, Target
from services.forks import fork_each, grid_points, left_out_in_words, plan_fork
from services.new_runs import Submitted
from services.runs import NO_LIMITS, Action, change_run, control, redo
from stages.reports.words import counted
from store.runs import overviews


def _grid_values(value: str) -> tuple[str, tuple[str, ...]]:
    name, equals, text = value.partition("=")
    values = tuple(part.strip() for part in text.split(","))
    if not (name and equals and all(values)):
        example = "EMBEDDING_MIN_REFERENCE_SIMILARITY=0.5,0.6"
        raise ValueError(f"{value!r} is not of the form NAME=VALUE,VALUE, such as {example}.")
    return name, values


@click.command("fork")
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@click.option(
    "--from",
    "stage",
    type=Choice(STAGES),
    metavar="STAGE",
    required=True,
    help="The first stage that is computed; what the stages before it stored is kept.",
)
@values_option(
    "Another value of a setting, or of the preset, that this stage or a later one reads. May be repeated.",
    "EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6",
)
@click.option(
    "--grid",
    type=Typed("NAME=V1,V2", _grid_values),
    multiple=True,
    help="Values of one setting, with a fork for each, and for every combination if repeated.",
)
@click.option("--name", metavar="NAME", help="Name of the fork, which no other run has; commands take it for RUN.")
@click.option("--new", "always_new", is_flag=True, help="Store another fork even if the same one is stored.")
@run_options
def fork_command(
    target: Target,
    stage: str,
    values: dict[str, str],
    grid: tuple[tuple[str, tuple[str, ...]], ...],
    name: str | None,
    always_new: bool,
    dry_run: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Compute a run or a job again from a stage on, with other settings, as a run of its own.

    The fork copies what the stages before it stored: nothing of that is embedded or asked again. Its subjects,
    reference index, corpus or vocabulary, and prompt templates are those of the parent. Jobs whose earlier stages are
    not stored are named and left out. A setting that an earlier stage reads is refused, with the stage to fork from.
    The same fork again finds its run. `ragq diff` compares a run with several forks.

    \b
    Example:
        ragq fork r12 --from rerank --set EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6 --wait
        ragq fork r20 --from rerank --set retrieval.mmr_lambda=0.5 --name diverse
        ragq fork r20 --from retrieve --grid retrieval.dense_weight=0.3,0.5,0.7 --wait
        ragq fork r12 --from score --set MODEL_QUANTITATIVE_MODEL=gemma3:27b --dry-run
        ragq fork j345 --from score --json
    """
    points = grid_points(dict(grid))
    if name is not None and len(points) > 1:
        raise click.UsageError("--name goes with one fork.")
    changes = [{**values, **point} for point in points]
    if dry_run:
        plans = [partial(plan_fork, target=target, stage=stage, values=change) for change in changes]
        print_estimates(plans, as_json=as_json)
        return
    forked = with_open_database(fork_each, target, stage, changes, name=name, always_new=always_new)
    for one in forked:
        report_fork(one, stage)
    conclude(forked, wait=wait, as_json=as_json, **{"parent": f"r{forked[0].parent_id}", "from": stage})


def report_fork(forked: Submitted, stage: str) -> None:
    """Print on stderr what a fork led to, and which jobs were left out."""
    jobs = f"{counted(forked.jobs, 'job')} of r{forked.parent_id}"
    report_stored(forked, f"{jobs} forked from '{stage}'", again="forked")
    for words in left_out_in_words(forked.left_out):
        print_text(f"Left out: {words}.", err=True)


_TARGET = click.argument("target", metavar="RUN|JOB", type=TARGET)
_NOTE = click.option("--note", help="The reason; shown with the jobs.")


@click.command()
@_TARGET
@click.option("--stage", type=Choice(STAGES), help="Only jobs of the run that failed in this stage.")
@click.option(
    "--type", "error_type", metavar="TYPE", help="Only jobs of the run that failed with this exception or category."
)
@click.option("--from", "first", type=Choice(STAGES), metavar="STAGE", help="First stage of a job to compute again.")
@json_option
def retry(target: Target, stage: str | None, error_type: str | None, first: str | None, as_json: bool) -> None:
    """Continue failed and poisoned jobs with the stage that failed; stored outputs and paid calls are not repeated.

    With --from one job, also one that succeeded, computes that stage and those after it again by the settings of its
    run. What was stored stays in its history. `ragq fork` takes other settings.

    \b
    Example:
        ragq retry r12
        ragq retry j345
        ragq retry j345 --from rerank
        ragq retry r12 --stage validate --type LLMTimeoutError
    """
    if target.run_id is None and (stage or error_type):
        raise click.UsageError("--stage and --type choose jobs of a run; a job is retried as it is.")
    if first is None:
        _control(target, Action.RETRY, as_json, stage=stage, error_type=error_type)
        return
    if target.job_id is None:
        raise click.UsageError("--from computes the stages of one job again: name a job, such as j345.")
    with_open_database(redo, target.job_id, first)
    print_result({"job": str(target), "from": first}, f"{target} continues with stage '{first}'.", as_json=as_json)


@click.command()
@_TARGET
@request_options(RunLimits)
@json_option
def resume(target: Target, as_json: bool, **limits: Any) -> None:
    """Continue paused jobs. Limits that are given replace those of the run; failures are counted anew.

    \b
    Example:
        ragq resume r12
        ragq resume r12 --max-llm-calls 500 --max-failures 5%
    """
    _control(target, Action.RESUME, as_json, limits=requested(RunLimits, **limits))


@click.command()
@_TARGET
@_NOTE
@json_option
def pause(target: Target, note: str | None, as_json: bool) -> None:
    """Pause unfinished jobs; what a worker computes at the moment is still stored.

    \b
    Example:
        ragq pause r12 --note "the GPU is needed elsewhere"
    """
    _control(target, Action.PAUSE, as_json, note=note)


@click.command()
@_TARGET
@_NOTE
@json_option
def cancel(target: Target, note: str | None, as_json: bool) -> None:
    """End unfinished and paused jobs; what was stored is kept.

    \b
    Example:
        ragq cancel r12 --note "wrong split"
    """
    _control(target, Action.CANCEL, as_json, note=note)


def _control(
    target: Target, action: Action, as_json: bool, *, limits: RunLimits = NO_LIMITS, **chosen: str | None
) -> None:
    result = with_open_database(control, target, action, limits=limits, **chosen)
    done = {"target": str(target), "action": action.verb, "jobs": [f"j{job_id}" for job_id in result.job_ids]}
    print_result(done, f"{counted(len(result.job_ids), 'job')} of {target} {action.verb}.", as_json=as_json)
    if limits.given and not result.job_ids:
        print_text(f"The limits are stored; no job of {target} was paused.", err=True)


@click.command("set")
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option("--name", help="A name that no other run has; '' removes it.")
@click.option("--note", help="A note in place of the one that it has; '' removes it.")
@click.option("--priority", type=Choice(Priority), help="How often its jobs have a turn.")
@json_option
def set_command(run_id: int, as_json: bool, **given: str | None) -> None:
    """Change name, note and priority of a run.

    A name can be given wherever a command takes the number of a run. Where several runs wait for the same workers, of
    21 jobs that start 16 are of an interactive run, 4 of a normal one and 1 of a bulk one; jobs that have started keep
    the priority they have, and indexing comes after other work in any case.

    \b
    Example:
        ragq set r12 --name baseline --note "the threshold of the paper"
        ragq set baseline --priority bulk
    """
    changes = requested(RunChanges, **given)
    if not changes.model_fields_set:
        raise click.UsageError("Give --name, --note or --priority.")
    with_database(change_run, run_id, changes)
    found = with_database(overviews.get, run_id)
    shown = {"run": f"r{run_id}", "name": found.name, "note": found.note, "priority": found.priority}
    stored = ", ".join(field for field in RunChanges.model_fields if field in changes.model_fields_set)
    print_result(shown, f"{found.title}: {stored} stored.", as_json=as_json)
