"""`ragq tags`: what phrases led to."""

from collections.abc import Sequence
from typing import Any

import click

from cli.config import with_database
from cli.ids import TARGET
from cli.options import group
from cli.output import Text, coloured, draw, print_json, print_text
from cli.sheets import rows_drawing
from schemas.errors import Refused
from schemas.values.runs import Target
from services.listings import candidates_table, phrase_table
from store import vocabularies
from store.vocabularies import TagsResult


@group()
def tags() -> None:
    """Show the candidate tags of phrases.

    \b
    Example:
        ragq tags show r12
    """


@tags.command("show")
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@click.option("--verbose", is_flag=True, help="Show for each phrase every tag that was found for it, before the cut.")
@click.option("--phrase-ranks", is_flag=True, help="Show the best rank that each candidate has for a phrase.")
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
    found = found_tags(target)
    if not as_json:
        for one in found:
            print_set(one, verbose=verbose, phrase_ranks=phrase_ranks)
    elif target.run_id is not None:
        print_json(sets_json(target.run_id, found, verbose=verbose, phrase_ranks=phrase_ranks))
    else:
        print_json(found[0].shaped(verbose=verbose, phrase_ranks=phrase_ranks))
        if found[0].note is not None:
            print_text(found[0].note, err=True)


def found_tags(target: Target) -> list[TagsResult]:
    """What the phrases of a run or a job led to. Raises Refused for one without phrases."""
    found = with_database(vocabularies.results, run_id=target.run_id, job_id=target.job_id)
    if not found:
        raise Refused(f"{target} has no phrases: `ragq runs` lists the runs, and tags runs are of kind 'tags'.")
    return found


def sets_json(
    run_id: int, found: Sequence[TagsResult], *, verbose: bool = False, phrase_ranks: bool = False
) -> dict[str, Any]:
    """What the phrases of a run led to, as JSON shows it."""
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
    return {"run": f"r{run_id}", "sets": sets}


def print_set(result: TagsResult, *, verbose: bool = False, phrase_ranks: bool = False) -> None:
    """Print what a set of phrases led to."""
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
