"""Answers to questions in the terminal: stored ones, and one that is being written."""

from rich.text import Text

from cli.output import console
from cli.session import with_database
from cli.shown_run import print_run
from cli.watch import SOME_FAILED, wait_until_idle
from schemas.statuses import JobStatus
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredResult
from store.runs import answer_pieces
from store.runs.run_view import RunView

#: Characters of an unfinished answer that fit below the table of its run.
SHOWN_CHARACTERS = 800


def follow_queries(run_id: int, *, as_json: bool) -> None:
    """Watch a run to its end, print it, and leave with exit code 3 when some jobs did not succeed.

    Of a single question the answer is printed too, in a terminal while it is written.
    """
    view = wait_until_idle(run_id, beside=_so_far)
    print_run(view, None, as_json=as_json)
    if view.overview.states.get(JobStatus.SUCCEEDED, 0) < view.overview.jobs:
        raise SystemExit(SOME_FAILED)
    if not as_json and len(view.jobs) == 1:
        job_id = view.jobs[0].job_id
        for result in with_database(lambda connection: _newest(connection, job_id)):
            print_answer(result)


def print_answer(result: StoredResult) -> None:
    """Print an answer, the model that wrote it, and what it cites wrongly."""
    unknown = result.unknown_citations
    note = f"  cites {', '.join(unknown)}, which the prompt does not have" if unknown else ""
    by = f"{result.model or result.origin}{', the light model' if result.is_light else ''}"
    console().print(f"\nanswer {result.id} ({by}){note}", style="bold")
    console().print(result.response_text, markup=False, highlight=False)


async def _so_far(connection: Connection, view: RunView) -> Text | None:
    query = await queries.of_job(connection, view.jobs[0].job_id) if len(view.jobs) == 1 else None
    found = None if query is None else await answer_pieces.read(connection, query.id)
    return None if found is None or not found.text else Text(found.text[-SHOWN_CHARACTERS:])


async def _newest(connection: Connection, job_id: int) -> list[StoredResult]:
    query = await queries.of_job(connection, job_id)
    return [] if query is None else (await queries.results(connection, query.id))[:1]
