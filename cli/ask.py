"""`ragq ask` and `ragq search`: one question to a corpus, followed to its answer or to its passages."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cli.config import with_database, with_open_database
from cli.main import SOME_FAILED
from cli.options import effective_settings, settings_options, split_values, together
from cli.output import Text, draw, json_option, print_json, print_text
from cli.query import place_words, print_failure, print_outcome, query_json
from cli.submissions import queries_request, search_options
from cli.watch import wait_until_idle
from schemas.statuses import JobStatus
from services.new_runs import Submitted
from services.submit import submit
from stages.corpora.cut import SEPARATOR
from store.corpora import works
from store.questions import queries
from store.questions.query_runs import QueryView, query_view

#: The question, and what both commands can say about it.
_question_options = together(
    click.argument("question", nargs=-1, required=True), *search_options, settings_options, json_option
)


@click.command()
@_question_options
def ask(as_json: bool, **asked: Any) -> None:
    """Ask a corpus a question, and print the answer with its sources.

    Every call asks anew. Ctrl-C stops watching, and the question continues. Exit codes: 3 when there is no answer, for
    example because no passage of the corpus answers the question; 130 after Ctrl-C.

    \b
    Example:
        ragq ask "Why does black tea turn dark?"
        ragq ask "Why does black tea turn dark?" --corpus shelf --json
    """
    submitted = _submitted(**asked)
    for notice in submitted.notices:
        print_text(notice, err=True)
    shown = _followed(submitted.run_id)
    if as_json:
        print_json(query_json(shown))
    else:
        print_outcome(shown)
        print_text(f"`ragq query show {shown.id}` shows its passages, with --json its prompt too.", err=True)
    _leave(shown)


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, help="Print the first N passages.")
@_question_options
def search(limit: int, as_json: bool, **asked: Any) -> None:
    """Print the passages of a corpus that a question finds, best first, without an answer.

    It searches for the words as they are and asks no language model. Exit codes: 3 when nothing was found, 130 after
    Ctrl-C.

    \b
    Example:
        ragq search "colour of black tea"
        ragq search "colour of black tea" --limit 1 --json
    """
    submitted = _submitted(**asked, no_expand=True, until="rerank")
    shown = _followed(submitted.run_id)
    found = sorted(shown.reranked.chunks if shown.reranked else (), key=lambda one: -one.final_score)
    if as_json:
        print_json(query_json(shown) | {"passages": found[:limit], "found": len(found)})
    else:
        titles = with_database(works.titles, sorted({one.work_id for one in found}))
        for place, one in enumerate(found[:limit], start=1):
            headings = one.heading_breadcrumbs.split(SEPARATOR) if one.heading_breadcrumbs else []
            of_work = place_words(titles.get(one.work_id, ""), headings, one)
            draw(Text(f"{place}. {of_work}", "bold"), f"{one.content.strip()}\n")
        if len(found) > limit:
            print_text(f"{len(found) - limit} more; --limit {len(found)} prints them.", err=True)
        print_failure(shown)
        if shown.error is None:
            print_text(f"`ragq query run {shown.id}` answers the question from them.", err=True)
    _leave(shown)


def _submitted(question: Sequence[str], profile: str | None, values: Mapping[str, str], **options: Any) -> Submitted:
    of_settings, of_preset = split_values(values)
    request = queries_request(query=" ".join(question), preset_values=of_preset, **options)
    settings = effective_settings(profile, of_settings)
    # A corpus may have other works since the same question was asked.
    (submitted,) = with_open_database(submit, request, settings, always_new=True)
    return submitted


def _followed(run_id: int) -> QueryView:
    """The question when its job is idle. After Ctrl-C it names the command that prints the answer."""
    (query_id,) = with_database(queries.of_run, run_id)
    try:
        wait_until_idle(run_id)
    except SystemExit:
        print_text(f"`ragq query show {query_id}` prints what is stored for the question then.", err=True)
        raise
    return with_database(query_view, query_id)


def _leave(shown: QueryView) -> None:
    if shown.job_status != JobStatus.SUCCEEDED:
        raise SystemExit(SOME_FAILED)
