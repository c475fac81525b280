"""`ragq retry`, `pause`, `resume` and `cancel`: actions on runs and jobs."""

import click

from cli.ids import TARGET
from cli.output import print_result
from cli.session import with_servers
from services.control import Action, control
from stages.reports.numbers_in_words import counted
from store.runs.job_control import Target

_TARGET = click.argument("target", metavar="RUN|JOB", type=TARGET)
_NOTE = click.option("--note", help="The reason; shown with the jobs.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@_TARGET
@_JSON
def retry(target: Target, as_json: bool) -> None:
    """Continue failed and poisoned jobs with the stage that failed; stored outputs and paid calls are not repeated.

    \b
    Example:
        ragq retry r12
        ragq retry j345
    """
    _control(target, Action.RETRY, None, as_json)


@click.command()
@_TARGET
@_JSON
def resume(target: Target, as_json: bool) -> None:
    """Continue paused jobs.

    \b
    Example:
        ragq resume r12
    """
    _control(target, Action.RESUME, None, as_json)


@click.command()
@_TARGET
@_NOTE
@_JSON
def pause(target: Target, note: str | None, as_json: bool) -> None:
    """Pause unfinished jobs; what a worker computes at the moment is still stored.

    \b
    Example:
        ragq pause r12 --note "the GPU is needed elsewhere"
    """
    _control(target, Action.PAUSE, note, as_json)


@click.command()
@_TARGET
@_NOTE
@_JSON
def cancel(target: Target, note: str | None, as_json: bool) -> None:
    """End unfinished and paused jobs; what was stored is kept.

    \b
    Example:
        ragq cancel r12 --note "wrong split"
    """
    _control(target, Action.CANCEL, note, as_json)


def _control(target: Target, action: Action, note: str | None, as_json: bool) -> None:
    result = with_servers(lambda app, database: control(app, database, target, action, note=note))
    done = {"target": str(target), "action": action.verb, "jobs": [f"j{job_id}" for job_id in result.job_ids]}
    print_result(done, f"{counted(len(result.job_ids), 'job')} of {target} {action.verb}.", as_json=as_json)
    for words in result.advice:
        click.echo(words, err=True)
    if not result.is_sent:
        click.echo("The broker cannot be reached; the jobs start when it is available again.", err=True)
