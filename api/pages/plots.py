"""`/runs/{id}/plots`: the plots of a run's report, drawn on request and cached until the run changes."""

import asyncio
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Request
from markupsafe import Markup
from starlette.responses import Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from schemas.errors import Refused, RunMissingError
from schemas.values.measures import RetrievalMeasures
from schemas.values.query_runs import QueryRun
from schemas.values.scored_runs import ScoredRun
from stages.reports.report import build_report, measures_of
from stages.reports.retrieval import build_retrieval_report
from stages.reports.words import notices
from stages.texts.ids import short_hash
from store.views.run_state import reported_run, run_state

KEPT_RUNS: Final = 8

#: Matplotlib writes inline styles into its files; nothing else is allowed.
CONTENT_SECURITY_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

pages = APIRouter(route_class=PageRoute, include_in_schema=False)
images = APIRouter(include_in_schema=False)


class Plot(NamedTuple):
    """A plot as a file."""

    name: str
    title: str
    svg: str


class KeptPlots:
    """The plots of the runs that were viewed last, by a hash of the run's content."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, list[Plot]] = OrderedDict()
        # Matplotlib's styles are global: only one thread may draw.
        self._drawing = threading.Lock()

    def of(self, run: ScoredRun | QueryRun) -> list[Plot]:
        """The plots of a run. The first call takes seconds."""
        key = short_hash(run.model_dump_json())
        with self._drawing:
            if key not in self._kept:
                self._kept[key] = [Plot(_slug(title), title, svg) for title, svg in _drawn(run)]
            self._kept.move_to_end(key)
            if len(self._kept) > KEPT_RUNS:
                self._kept.popitem(last=False)
            return self._kept[key]


_kept = KeptPlots()


@pages.get("/runs/{run_id}/plots")
async def plots_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Every plot for which the run's report has data."""
    run = await _finished_run(ctx, run_id)
    kind = "query" if isinstance(run, QueryRun) else "participant"
    shown = list(notices(kind, run.profile, run.request))
    return page(request, "plots.html.j2", run_id=run_id, notices=shown, plots=await asyncio.to_thread(_kept.of, run))


@images.get("/runs/{run_id}/plots/{name}.svg")
async def plot(ctx: Context, run_id: PathId, name: Annotated[str, Path(pattern="^[a-z0-9-]{1,100}$")]) -> Response:
    """One plot as an image."""
    run = await _finished_run(ctx, run_id)
    for found in await asyncio.to_thread(_kept.of, run):
        if found.name == name:
            policy = {"Content-Security-Policy": CONTENT_SECURITY_POLICY}
            return Response(found.svg, media_type="image/svg+xml", headers=policy)
    raise HTTPException(404, f"The report of run r{run_id} has no plot of that name; /runs/{run_id}/plots lists all.")


async def _finished_run(ctx: ApiContext, run_id: int) -> ScoredRun | QueryRun:
    async with ctx.database.connection() as connection:
        state = await run_state(connection, run_id)
        if state is None:
            raise RunMissingError(run_id)
        if not state.is_idle:
            raise Refused(f"Run r{run_id} has not finished; its plots are available then.")
        return await reported_run(connection, run_id)


def _drawn(run: ScoredRun | QueryRun) -> Iterator[tuple[str, str]]:
    # Importing Matplotlib takes a second.
    from services.plots import retrieval, scored
    from services.plots.svg import as_file

    found: Iterator[tuple[str, Markup]]
    if isinstance(run, QueryRun):
        found = retrieval.retrieval_plots(build_retrieval_report(run, measures=RetrievalMeasures()))
    else:
        found = scored.scored_plots(build_report(run, measures=measures_of(run.settings, {})))
    for title, svg in found:
        yield title, as_file(svg)


def _slug(title: str) -> str:
    """A title as a part of an address.

    >>> _slug("Risk over coverage, with its 95 % band")
    'risk-over-coverage-with-its-95-band'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
