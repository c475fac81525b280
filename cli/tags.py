"""`ragq tags`: what phrases led to."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cli.config import with_database
from cli.ids import TARGET
from cli.options import group
from cli.output import Text, coloured, draw, print_json, print_text
from cli.sheets import rows_drawing
from cli.watch import SOME_FAILED, wait_until_idle
from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.runs import Target
from services.listings import candidates_table, phrase_table
from store import vocabularies
from store.vocabularies import TagsResult

Command = TypeVar("Command", bound=Callable[..., Any])


def shape_options(command: Command) -> Command:
    """Give a command --verbose and --phrase-ranks, as `verbose` and `phrase_ranks`."""
    command = click.option(
        "--phrase-ranks", is_flag=True, help="Show the best rank that each candidate has for a phrase."
    )(command)
    return click.option(
        "--verbose", is_flag=True, help="Show for each phrase every tag that was found for it, before the cut."
    )(command)


@group()
def tags() -> None:
    """Show the candidate tags of phrases.

    \b
    Example:
        ragq tags show r12
    """


@tags.command("show")
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@shape_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON: of a run one object, of a job its result alone.")
def show_command(target: Target, verbose: bool, phrase_ranks: bool, as_json: bool) -> None:
    """Show the candidate tags of a run or a job, best first.

    In JSON a result is the list of candidates; with --verbose or --phrase-ranks an array of that list, then the
    reports by phrase, then the ranks, as far as they were asked for. A job that did not succeed has none.

    The output contains sensitive text: the phrases that were asked.

    \b
    Example:
        ragq tags show r12
        ragq tags show j345 --verbose --phrase-ranks --json
    """
    found = _results(target)
    if as_json and target.job_id is not None:
        print_json(found[0].shaped(verbose=verbose, phrase_ranks=phrase_ranks))
        if found[0].note is not None:
            print_text(found[0].note, err=True)
    else:
        _print(target, found, verbose=verbose, phrase_ranks=phrase_ranks, as_json=as_json)


def follow_tags(run_id: int, *, as_json: bool, verbose: bool, phrase_ranks: bool) -> None:
    """Watch a run to its end, print what its phrases led to, and leave with exit code 3 when some jobs failed."""
    view = wait_until_idle(run_id)
    run = Target(run_id, None)
    _print(run, _results(run), verbose=verbose, phrase_ranks=phrase_ranks, as_json=as_json)
    if view.overview.states.get(JobStatus.SUCCEEDED, 0) != view.overview.jobs:
        print_text(f"Some jobs failed; `ragq show r{run_id}` shows why.", err=True)
        raise SystemExit(SOME_FAILED)


def _results(target: Target) -> list[TagsResult]:
    found = with_database(
        lambda connection: vocabularies.results(connection, run_id=target.run_id, job_id=target.job_id)
    )
    if not found:
        raise Refused(f"{target} has no phrases: `ragq runs` lists the runs, and tags runs are of kind 'tags'.")
    return found


def _print(target: Target, found: list[TagsResult], *, verbose: bool, phrase_ranks: bool, as_json: bool) -> None:
    if as_json:
        sets = [
            {
                "id": one.subject,
                "job": f"j{one.job_id}",
                "status": one.status,
                "result": one.shaped(verbose=verbose, phrase_ranks=phrase_ranks),
                "note": one.note,
            }
            for one in found
        ]
        print_json({"run": None if target.run_id is None else f"r{target.run_id}", "sets": sets})
        return
    for one in found:
        _print_set(one, verbose=verbose, phrase_ranks=phrase_ranks)


def _print_set(result: TagsResult, *, verbose: bool, phrase_ranks: bool) -> None:
    draw(Text.assemble((f"{result.subject}  j{result.job_id}  ", "bold"), coloured(result.status)))
    if result.validated is None:
        return
    ranks = result.validated.phrase_rank_by_tag if phrase_ranks else None
    draw(rows_drawing(candidates_table(result.validated.candidates, ranks)))
    if result.note is not None:
        draw(result.note)
    if verbose:
        for report in result.phrase_reports:
            in_model = "in" if report.tfidf_vocab else "not in"
            draw(f"{report.normalized} ({in_model} the context model)", rows_drawing(phrase_table(report)))
