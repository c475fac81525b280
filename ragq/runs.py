"""A run: followed, reported, retried, forked and exported."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ragq.sweep_tables import sweep_table, value_text
from ragq.tables import Table
from schemas.errors import Refused, RunMissingError
from schemas.values.costs import RunCost
from schemas.values.evaluation_reports import EvaluationReport
from schemas.values.phq8 import PHQ8Item
from schemas.values.prices import Prices
from schemas.values.query_runs import QueryRun
from schemas.values.reports import Report
from schemas.values.retrieval_reports import RetrievalReport
from schemas.values.run_names import run_number
from schemas.values.several_runs import Sweep
from schemas.values.targets import Target
from services.control import Action, control
from services.costs import cost_of_run
from services.evaluation_reports import evaluation_report
from services.evaluations import evaluate
from services.forks import ForkRequest, fork
from services.run_files import ExportedRun, export_run
from services.score_tables import scores_of_run
from services.sweeps import grid_points, run_sweep, sweep_results
from stages.reports.costs import cost_words
from stages.reports.measures import measures_of, retrieval_measures_of
from stages.reports.report import build_report
from stages.reports.retrieval import build_retrieval_report
from stages.reports.run_words import asked_for, notices
from store.database import Connection, Database
from store.runs import run_names, stored_runs
from store.runs.overviews import RunOverview, overview
from store.runs.run_view import RunView, run_view
from store.views.attempt_traces import attempt_traces
from store.views.reported_runs import reported_run
from store.views.run_state import RunState, run_state

Result = TypeVar("Result")

_POLL_S = 0.5


class Waiting(Protocol):
    """What a run needs of its connection."""

    def read(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """The result of a coroutine function on a connection."""

    def wait_for(self, work: Awaitable[Result]) -> Result:
        """The result of a coroutine."""


class Run:
    """A stored run."""

    def __init__(self, lab: Waiting, database: Database, run_id: int) -> None:
        self._lab, self._database = lab, database
        self.id = run_id

    def __repr__(self) -> str:
        return f"<ragq run r{self.id}>"

    def _repr_html_(self) -> str:
        found = self.overview()
        states = ", ".join(f"{count} {status}" for status, count in found.states.items())
        lines = [
            f"<strong>{escape(found.title)}</strong> {escape(found.kind)}, profile {escape(found.profile)}",
            escape(asked_for(found.request)),
            f"{found.jobs} jobs: {escape(states)}",
            *(f"<em>{escape(words)}</em>" for words in notices(found.kind, found.profile, found.request)),
            *(escape(words) for words in cost_words(self.cost())),
        ]
        return "<p>" + "<br>".join(lines) + "</p>"

    def overview(self) -> RunOverview:
        """Name, kind, request, times, and how many jobs are in each state."""
        found = self._lab.read(lambda connection: overview(connection, self.id))
        if found is None:
            raise RunMissingError(self.id)
        return found

    def state(self) -> RunState:
        """Its progress now."""
        found = self._lab.read(lambda connection: run_state(connection, self.id))
        if found is None:
            raise RunMissingError(self.id)
        return found

    def wait(self, timeout: float | None = None) -> RunState:
        """Wait until nothing of it runs or will start by itself. Raises TimeoutError after so many seconds."""

        async def idle() -> RunState:
            async with asyncio.timeout(timeout):
                while True:
                    async with self._database.connection() as connection:
                        found = await run_state(connection, self.id)
                    if found is None:
                        raise RunMissingError(self.id)
                    if found.is_idle:
                        return found
                    await asyncio.sleep(_POLL_S)

        return self._lab.wait_for(idle())

    def jobs(self) -> Table:
        """A row per job: its state, calls and seconds, and the error that it ended with."""
        return Table(
            [
                {
                    "job": f"j{job.job_id}",
                    **{name: getattr(job, name) for name in ("subject", "mode", "status", "llm_paid", "llm_reused")},
                    "seconds": job.seconds,
                    "error_stage": None if job.error is None else job.error.stage,
                    "error_type": None if job.error is None else job.error.type,
                    "error": None if job.error is None else job.error.message,
                }
                for job in self._view().jobs
            ]
        )

    def attempts(self, *, with_text: bool = False) -> Table:
        """A row per attempt of every stage; with text also outputs, and what models were asked and replied."""

        async def read(connection: Connection) -> Table:
            rows = []
            view = await run_view(connection, self.id)
            for job in [] if view is None else view.jobs:
                for attempt in await attempt_traces(connection, job.job_id):
                    names = ("stage", "number", "outcome", "seconds", "started_at", "ended_at", "error_type", "hash")
                    row: dict[str, Any] = {"job": f"j{job.job_id}", "subject": job.subject, "mode": job.mode}
                    row |= {name: getattr(attempt, name) for name in names}
                    prompt, reply = attempt.paid_tokens
                    row |= {"calls_paid": attempt.paid, "calls_reused": attempt.reused}
                    row |= {"prompt_tokens": prompt, "reply_tokens": reply}
                    if with_text:
                        exchanged = [{"messages": call.messages, "reply": call.reply} for call in attempt.calls]
                        row |= {"output": attempt.output, "calls": exchanged}
                    rows.append(row)
            return Table(rows)

        return self._lab.read(read)

    def scores(self) -> Table:
        """A row per participant, mode and item: the score beside the truth. Raises Refused for other runs."""
        found = self._lab.read(lambda connection: scores_of_run(connection, self.id))
        return Table(
            [
                {
                    "participant": participant.participant_id,
                    "mode": mode.value,
                    "item": item.value,
                    "score": None if scored.items is None else scored.items[item],
                    "truth": None if participant.truth is None else participant.truth[item],
                }
                for participant in found.participants
                for mode, scored in participant.modes.items()
                for item in PHQ8Item
            ]
        )

    def report(self, prices: Prices | None = None, **measures: Any) -> Report | RetrievalReport:
        """The report, with measures such as `bootstrap_resamples` or, of queries, `cutoff`."""
        found = self._lab.read(lambda connection: reported_run(connection, self.id))
        if isinstance(found, QueryRun):
            return build_retrieval_report(found, measures=retrieval_measures_of(measures), prices=prices)
        return build_report(found, measures=measures_of(found.settings, measures), prices=prices)

    def report_page(self) -> str:
        """The report as one HTML page with its plots."""
        from services.report_pages.pages import report_page, retrieval_page

        found = self.report()
        return report_page(found) if isinstance(found, Report) else retrieval_page(found)

    def cost(self, prices: Prices | None = None) -> RunCost:
        """Tokens, seconds and, with prices, money, summed over all attempts."""
        return self._lab.read(lambda connection: cost_of_run(connection, self.id, prices, by_job=True))

    def retry(self, *, stage: str | None = None, error_type: str | None = None) -> int:
        """Retry failed jobs, or those that failed in a stage or with a type of error; returns how many."""
        done = self._lab.wait_for(
            control(
                self._database,
                Target(self.id, None),
                Action.RETRY,
                stage=stage,
                error_type=error_type,
            )
        )
        return len(done.job_ids)

    def fork(self, stage: str, values: Mapping[str, Any], *, name: str | None = None) -> "Run":
        """A run that shares what is stored before a stage, and computes from it on with other settings."""
        request = ForkRequest(target=Target(self.id, None), stage=stage, values=dict(values))
        forked = self._lab.wait_for(fork(self._database, request, name=name))
        return Run(self._lab, self._database, forked.submitted.run_id)

    def sweep(
        self,
        stage: str,
        grid: Mapping[str, Sequence[object]],
        *,
        sample: int | None = None,
        seed: int = 42,
        at_once: int | None = 4,
        measures: Sequence[str] = (),
        mode: str | None = None,
        select_on: str | None = None,
        report_on: str | None = None,
    ) -> Table:
        """Fork the run at every point of a grid, wait for the forks, and compare them with it.

        A row per point, mode and measure: the difference from the run, paired by subject, with its 95 % interval and
        one that is corrected for the number of points. `is_best` marks the best point by the first measure; it is
        chosen on the same subjects unless two splits are named. The same sweep again takes the forks that are stored.
        """
        points = grid_points(
            {name: [value_text(one) for one in of] for name, of in grid.items()}, sample=sample, seed=seed
        )

        async def swept() -> Sweep:
            made = await run_sweep(self._database, Target(self.id, None), stage, points, at_once=at_once)
            runs_of = {one.forked.submitted.run_id: one.values for one in made}
            return await sweep_results(
                self._database,
                self.id,
                stage,
                runs_of,
                measure=measures[0] if measures else None,
                mode=mode,
                select_on=select_on,
                report_on=report_on,
            )

        return sweep_table(self._lab.wait_for(swept()), measures)

    def evaluate(self, values: Mapping[str, Any] | None = None, *, name: str | None = None) -> "Run":
        """A run that judges the newest answer of each question of this run; `evaluation` of it has the results."""
        submitted = self._lab.wait_for(evaluate(self._database, self.id, values or {}, name=name))
        return Run(self._lab, self._database, submitted.run_id)

    def evaluation(self, **measures: Any) -> EvaluationReport:
        """The results of a run that evaluates answers, with `bootstrap_resamples` and `bootstrap_seed`."""
        return self._lab.read(
            lambda connection: evaluation_report(connection, self.id, measures=retrieval_measures_of(measures))
        )

    def export(self, file: str | os.PathLike[str]) -> ExportedRun:
        """Write the run to one file, with all its texts."""
        return self._lab.read(lambda connection: export_run(connection, self.id, Path(file)))

    def _view(self) -> RunView:
        found = self._lab.read(lambda connection: run_view(connection, self.id))
        if found is None:
            raise RunMissingError(self.id)
        return found


async def number_of(connection: Connection, run: int | str) -> int:
    """The number of a run that is named by number or name. Raises Refused when there is none."""
    number = run if isinstance(run, int) else run_number(run) or await run_names.find(connection, run)
    if number is None:
        raise Refused(f"'{run}' is neither the number of a run, like r12, nor a run's name.")
    if not await stored_runs.exists(connection, run_id=number):
        raise RunMissingError(number)
    return number
