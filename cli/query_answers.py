"""Answers to questions on the terminal, with what they were made from."""

from collections.abc import Mapping
from dataclasses import asdict
from textwrap import shorten
from typing import Any

from cli.drawing import Text
from cli.output import draw, print_json, print_text
from cli.session import with_database
from cli.shown_run import print_run, run_json
from cli.watch import SOME_FAILED, all_succeeded, wait_until_idle
from schemas.values.failures import StageFailure
from services.questions.lookup import QueryDetails, single_query_details
from stages.corpora.pages import pages_in_words
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredResult
from store.questions.query_lines import QueryLine
from store.runs import answer_pieces
from store.runs.run_view import RunView

#: Characters of an unfinished answer that fit below the table of its run.
SHOWN_CHARACTERS = 800

#: Of a passage that does not answer a question.
NEAREST_CHARACTERS = 300


def follow_question(run_id: int, *, as_json: bool) -> None:
    """Watch a run of questions to its end; print the answer of a single one with its sources, or why it has none.

    In a terminal the answer is shown while it is written, too. JSON has the run with its single question and answers.
    """
    view = wait_until_idle(run_id, all_jobs=as_json, beside=None if as_json else so_far)
    shown = with_database(lambda connection: single_query_details(connection, run_id))
    if as_json:
        print_json(run_json(view, None) | {"query": None if shown is None else query_json(shown)})
    else:
        print_run(view, None, as_json=False)
        if shown is not None:
            print_outcome(shown)
    if not all_succeeded(view):
        raise SystemExit(SOME_FAILED)


def query_json(shown: QueryDetails) -> dict[str, Any]:
    """A question with its answers, the newest first, and its last error, as JSON shows it."""
    answers = [asdict(result) | {"cited": result.cited} for result in shown.answers]
    return line_json(shown.line) | {"answers": answers, "error": shown.error, "nearest": shown.nearest}


def line_json(line: QueryLine) -> dict[str, Any]:
    """A question in one line, as JSON shows it."""
    return asdict(line) | {"corpora": line.corpora, "works": line.works}


async def so_far(connection: Connection, view: RunView) -> Text | None:
    """The end of the answer that is being written."""
    query = await queries.of_job(connection, view.jobs[0].job_id) if len(view.jobs) == 1 else None
    found = None if query is None else await answer_pieces.read(connection, query.id)
    return None if found is None or not found.text else Text(found.text[-SHOWN_CHARACTERS:])


def print_outcome(shown: QueryDetails) -> None:
    """Print the newest answer, and the error of a question that failed."""
    for result in shown.answers[:1]:
        print_answer(result)
    if shown.error is not None:
        print_failure(shown.line.id, shown.error)
    print_nearest(shown)


def print_answer(result: StoredResult) -> None:
    """Print an answer, the sources that it cites, the others, and what was lost or replaced on the way to it."""
    unknown = result.unknown_citations
    note = f"  cites {', '.join(unknown)}, which the prompt does not have" if unknown else ""
    cut = ", cut off" if result.is_cut else ""
    by = f"{result.model or result.origin}{', the light model' if result.is_light else ''}"
    draw(Text(f"\nanswer {result.id} ({by}{cut}){note}", "bold"))
    draw(result.response_text)
    cited = result.cited
    for is_cited, heading in ((True, "cited"), (False, "also read" if cited else "read")):
        sources = [source for source in result.sources if (source["label"] in cited) is is_cited]
        if sources:
            draw(Text(f"{heading}:"))
        for source in sources:
            of = f", of corpus {source['corpus']}" if _has_several_corpora(result) else ""
            draw(Text(f"  [{source['label']}] {place_words(source)}{of}", "dim"))
    for words in result.notes:
        draw(Text(f"  note: {words}", "yellow"))


def print_nearest(shown: QueryDetails) -> None:
    """Print the nearest passages to a question that the corpus does not answer."""
    if shown.nearest:
        draw(Text("\nNo passage of this corpus answers this. The nearest are:", "bold"))
    for chunk in shown.nearest:
        lines = f"work {chunk['work_id']}, lines {chunk['start_line']} to {chunk['end_line']}"
        draw(Text("  " + ", ".join(filter(None, (chunk["heading_breadcrumbs"], lines))), "dim"))
        draw(f"  {shorten(chunk['content'], NEAREST_CHARACTERS, placeholder=' …')}")


def place_words(source: Mapping[str, Any]) -> str:
    """The work, the headings, the pages and the lines of a source."""
    section = " > ".join([source["title"], *source.get("heading_chain", ())])
    pages = [pages_in_words(source["pages"])] if source.get("pages") else []
    return ", ".join([section, *pages, f"lines {source['start_line']} to {source['end_line']}"])


def _has_several_corpora(result: StoredResult) -> bool:
    return result.basis is not None and len(result.basis.corpora) > 1


def print_failure(query_id: int, error: StageFailure) -> None:
    """Print the last error of a question on stderr, and how it runs with other values."""
    print_text(f"Stage '{error.stage}' failed: {error.message}", err=True)
    run = f"ragq query run {query_id}"
    if run not in error.message and "`ragq fork" not in error.message:
        print_text(f"`{run}` tries it again, `{run} --preset NAME` and `--set NAME=VALUE` with other values.", err=True)
