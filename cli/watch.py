"""`ragq watch`: follow a run until it finishes."""

import asyncio
import time
from typing import Any

import click
from rich.console import Group
from rich.live import Live

from cli.config import servers, with_database
from cli.ids import RUN
from cli.main import INTERRUPTED, SOME_FAILED
from cli.output import Text, Trimmed, console, print_json, print_text
from cli.query import only_question, print_outcome, query_json
from cli.run_table import SHOWN_JOBS, print_run, run_json, run_table
from cli.tags import found_tags, print_set, sets_json
from schemas.statuses import JobStatus
from schemas.values.runs import Target
from stack.probes import broker_answers
from stages.reports.words import duration
from store.database import Connection
from store.runs.jobs import most_urgent
from store.runs.problems import ProblemKind, RunProblem, problems
from store.runs.run_view import RunView, run_view, with_origin
from store.views import RunState, run_scores, run_state

_POLL_S = 0.25
_SHARE = 9.0
#: Without a stage that ends, between two looks at what may be wrong.
_LOOKS_EVERY_S = 5.0
#: Between two lines where there is no terminal.
_LINE_EVERY_S = 10.0


@click.command()
@click.argument("run_ids", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option("--results", is_flag=True, help="Print sensitive text too: the answer of a single question, found tags.")
@click.option("--json", "as_json", is_flag=True, help="Print the run as one JSON object when it has finished.")
def watch(run_ids: tuple[int, ...], results: bool, as_json: bool) -> None:
    """Follow runs until they finish, with the estimated remaining time.

    A run of participants ends with its scores. With --results, as with `ragq submit --wait`, one of a single question
    ends with the answer, and one of phrases with their candidate tags. JSON of several runs is an array. Ctrl-C stops
    watching, and the runs continue. Exit codes: 3 when some jobs did not succeed, 130 after Ctrl-C.

    \b
    Example:
        ragq watch r12
    """
    documents, are_whole = [], True
    for run_id in run_ids:
        view = wait_until_idle(run_id, all_jobs=as_json)
        are_whole &= view.run.states.get(JobStatus.SUCCEEDED, 0) == view.run.jobs
        documents.append(_shown(view, results=results, as_json=as_json))
    if as_json:
        print_json(documents if len(documents) > 1 else documents[0])
    if not are_whole:
        raise SystemExit(SOME_FAILED)


def _shown(view: RunView, *, results: bool, as_json: bool) -> dict[str, Any]:
    """What a run led to, as JSON, after it is printed in words."""
    run_id = view.run.id
    if results and view.run.kind == "tags":
        found = found_tags(Target(run_id, None))
        for one in () if as_json else found:
            print_set(one)
        return run_json(view, None) | sets_json(run_id, found)
    if results and view.run.kind == "query":
        question = with_database(only_question, run_id)
        if not as_json:
            print_run(view, None)
            if question is not None:
                print_outcome(question)
        return run_json(view, None) | {"query": None if question is None else query_json(question)}
    scores = with_database(run_scores, run_id)
    if not as_json:
        print_run(view, scores)
    return run_json(view, scores)


def wait_until_idle(run_id: int, *, all_jobs: bool = False) -> RunView:
    """Watch a run to its end, and print nothing of it on stdout. Ctrl-C ends ragq with exit code 130. The run has the
    jobs that a table lists, or all."""
    try:
        return with_database(_until_rest, run_id, all_jobs)
    except KeyboardInterrupt:
        print_text(f"\nStopped watching; run r{run_id} continues. `ragq watch r{run_id}` watches it again.", err=True)
        raise SystemExit(INTERRUPTED) from None


async def read(connection: Connection, run_id: int, *, all_jobs: bool = False) -> RunView:
    """The run with the jobs that a table lists, or all. Raises MissingError."""
    urgent = None if all_jobs else await most_urgent(connection, run_id, limit=SHOWN_JOBS)
    return await run_view(connection, run_id, job_ids=urgent)


async def _until_rest(connection: Connection, run_id: int, all_jobs: bool) -> RunView:
    """The run at its end; until then its table in the terminal, or a line from time to time."""
    started = looked = told = time.monotonic()
    screen, done, obstacle = console(err=True), 0, None
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        while True:
            began = time.monotonic()
            view, state = await look(connection, run_id)
            if state.is_idle:
                break
            now, before = time.monotonic(), obstacle
            if state.stages_done > done:
                done, looked, obstacle = state.stages_done, now, None
            elif now >= looked + _LOOKS_EVERY_S:
                looked, obstacle = now, await _obstacle(connection, run_id)
            progressed = _progressed(state, now - started)
            if screen.is_terminal:
                status = Text(progressed, style="bold")
                hint = None if obstacle is None else Text(obstacle, style="yellow")
                shown = [part for part in (run_table(view), status, hint) if part is not None]
                live.update(Trimmed(Group(*shown)), refresh=True)
            else:
                if now >= told + _LINE_EVERY_S:
                    told = now
                    screen.print(f"r{run_id}: {progressed}", highlight=False)
                if obstacle and obstacle != before:
                    screen.print(obstacle, highlight=False)
            # What takes long to read is read less often: watching costs the database a tenth of a connection.
            await asyncio.sleep(max(_POLL_S, _SHARE * (now - began)))
    return await with_origin(connection, await read(connection, run_id, all_jobs=True) if all_jobs else view)


def _progressed(state: RunState, elapsed_s: float) -> str:
    remaining = "" if state.seconds_left is None else f", about {duration(state.seconds_left)} to go"
    return f"{state.stages_done} of {state.stages} stages, {duration(elapsed_s)}{remaining}"


async def _obstacle(connection: Connection, run_id: int) -> str | None:
    """Why no stage of a run ends; None where nothing is known to be wrong."""
    is_broker_away = not await asyncio.to_thread(broker_answers, servers().redis_url)
    found = await problems(connection, is_broker_away=is_broker_away, of_run=run_id)
    waits = (one for one in found if one.what not in (ProblemKind.FAILED, ProblemKind.NOTHING_FOUND))
    return next(map(_words, waits), None)


def _words(problem: RunProblem) -> str:
    """What a run waits for, and until when or which command helps."""
    where = "" if problem.stage is None else f"{problem.stage}: "
    if problem.until is not None:
        return f"{where}{problem.reason or 'waits'} Until {problem.until.astimezone():%H:%M:%S}."
    return f"{where}{problem.reason} `{problem.remedy}` helps."


async def look(connection: Connection, run_id: int) -> tuple[RunView, RunState]:
    """The run and its state, read in one snapshot: the reaper may make a publication due a moment later."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await read(connection, run_id), await run_state(connection, run_id)
