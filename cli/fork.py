"""`ragq fork`: stored work computed again from a stage on, by other settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from cli.estimate import print_found
from cli.ids import TARGET
from cli.options import Assignment, chosen_prices, refuse_prices
from cli.output import print_json, print_text
from cli.run_options import run_options
from cli.session import with_open_database
from cli.watch import follow
from schemas.chains import STAGES
from schemas.values.runs import Target
from services.estimates import estimate_fork
from services.forks import Forked, ForkRequest, fork
from stages.reports.numbers_in_words import counted

Command = TypeVar("Command", bound=Callable[..., Any])

#: Jobs that are left out are listed up to this many.
_LISTED = 10


class StageName(click.ParamType[str]):
    """The name of a stage. The service checks that the chain has it; the shell completes it."""

    name = "STAGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The stages that begin so."""
        return [CompletionItem(stage) for stage in STAGES if stage.startswith(incomplete)]


def from_option(command: Command) -> Command:
    """Give a command --from, as the parameter `stage`."""
    return click.option(
        "--from",
        "stage",
        type=StageName(),
        metavar="STAGE",
        required=True,
        help="The first stage that is computed; what the stages before it stored is kept.",
    )(command)


@click.command("fork")
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@from_option
@click.option(
    "--set",
    "assignments",
    type=Assignment("EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6"),
    multiple=True,
    help="Another value of a setting, or of the preset, that this stage or a later one reads. May be repeated.",
)
@click.option("--name", metavar="NAME", help="Name of the fork, which no other run has; commands take it for RUN.")
@click.option("--new", "always_new", is_flag=True, help="Store another fork even if the same one is stored.")
@run_options("fork")
def fork_command(
    target: Target,
    stage: str,
    assignments: tuple[tuple[str, str], ...],
    name: str | None,
    always_new: bool,
    dry_run: bool,
    price_file: Path | None,
    wait: bool,
    as_json: bool,
) -> None:
    """Compute a run or a job again from a stage on, with other settings, as a run of its own.

    The fork copies what the stages before it stored: nothing of that is embedded or asked again. Its subjects,
    reference index, corpus or vocabulary, and prompt templates are those of the parent. Jobs whose earlier stages are
    not stored are named and left out. A setting that an earlier stage reads is refused, with the stage to fork from.
    The same fork again finds its run.

    \b
    Example:
        ragq fork r12 --from rerank --set EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6 --wait
        ragq fork r20 --from rerank --set retrieval.mmr_lambda=0.5 --name diverse
        ragq fork r12 --from score --set MODEL_QUANTITATIVE_MODEL=gemma3:27b --dry-run
        ragq fork j345 --from score --json
    """
    request = ForkRequest(target=target, stage=stage, values=dict(assignments))
    if dry_run:
        prices = chosen_prices(price_file)
        print_found(
            [with_open_database(lambda database: estimate_fork(database, request, prices=prices))], as_json=as_json
        )
        return
    refuse_prices(price_file)
    forked = with_open_database(lambda database: fork(database, request, name=name, always_new=always_new))
    report_fork(forked, stage)
    if wait:
        follow(forked.submitted.run_id, as_json=as_json)
    elif as_json:
        print_json(fork_json(forked, stage))
    else:
        print_text(f"r{forked.submitted.run_id}")


def report_fork(forked: Forked, stage: str) -> None:
    """Print on stderr what a fork led to, and which jobs were left out."""
    submitted, run = forked.submitted, f"r{forked.submitted.run_id}"
    if submitted.is_new:
        jobs = counted(submitted.jobs, "job")
        print_text(f"{run}: {jobs} of r{forked.parent_id} forked from '{stage}'.", err=True)
    else:
        print_text(f"Already forked as {run}; nothing new was stored. --new forces another fork.", err=True)
    if forked.without_stage:
        print_text(f"{counted(forked.without_stage, 'job')} without stage '{stage}' not forked.", err=True)
    for one in forked.left_out[:_LISTED]:
        print_text(f"Left out: j{one.job_id} ({one.subject}, {one.mode}): {one.why}.", err=True)
    if (more := len(forked.left_out) - _LISTED) > 0:
        print_text(f"and {counted(more, 'more job')} left out; --json lists all of them.", err=True)


def fork_json(forked: Forked, stage: str) -> dict[str, Any]:
    """A fork as JSON shows it."""
    return {
        "run": f"r{forked.submitted.run_id}",
        "parent": f"r{forked.parent_id}",
        "from": stage,
        **forked.submitted._asdict(),
        "left_out": [one._asdict() for one in forked.left_out],
        "without_stage": forked.without_stage,
    }
