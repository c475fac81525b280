"""Answers to questions on the terminal, with what they were made from."""

import click

from cli.output import console
from cli.session import with_database
from cli.watch import SOME_FAILED, follow_to_rest, wait_until_idle
from schemas.values.failures import StageFailure
from services.questions.lookup import QueryDetails, single_query_details
from store.questions.queries import StoredResult


def follow_question(run_id: int, *, as_json: bool) -> None:
    """Watch a run of questions to its end; print the answer of a single one with its sources, or why it has none."""
    if as_json:
        is_done = follow_to_rest(run_id, as_json=True)
    else:
        wait_until_idle(run_id)
        shown = with_database(lambda connection: single_query_details(connection, run_id))
        is_done = follow_to_rest(run_id, as_json=False)
        if shown is not None:
            print_outcome(shown)
    if not is_done:
        raise SystemExit(SOME_FAILED)


def print_outcome(shown: QueryDetails) -> None:
    """Print the newest answer, and the error of a question that failed."""
    for result in shown.answers[:1]:
        print_answer(result)
    if shown.error is not None:
        print_failure(shown.line.id, shown.error)


def print_answer(result: StoredResult) -> None:
    """Print an answer, its sources, and what was lost or replaced on the way to it."""
    out = console()
    unknown = result.unknown_citations
    note = f"  cites {', '.join(unknown)}, which the prompt does not have" if unknown else ""
    cut = ", cut off" if result.is_cut else ""
    by = f"{result.model or result.origin}{', the light model' if result.is_light else ''}"
    out.print(f"\nanswer {result.id} ({by}{cut}){note}", style="bold")
    out.print(result.response_text, markup=False, highlight=False)
    for source in result.sources:
        lines = f"lines {source['start_line']} to {source['end_line']}"
        out.print(f"  [{source['label']}] {source['title']}, {lines}", markup=False, highlight=False, style="dim")
    for words in result.notes:
        out.print(f"  note: {words}", markup=False, highlight=False, style="yellow")


def print_failure(query_id: int, error: StageFailure) -> None:
    """Print the last error of a question on stderr, and how it runs with other values."""
    click.echo(f"Stage '{error.stage}' failed: {error.message}", err=True)
    run = f"ragq query run {query_id}"
    if run not in error.message:
        click.echo(f"`{run}` tries it again, `{run} --preset NAME` and `--set NAME=VALUE` with other values.", err=True)
