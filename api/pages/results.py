"""`/rag/{id}/results`: the answers to a question, with their sources."""

import asyncio
import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from html import escape
from typing import Annotated, Any, Final, NamedTuple

import nh3
from fastapi import APIRouter, Depends, HTTPException, Path, Request
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.errors import Refused, RunMissingError
from schemas.values.differences import RetrievalMeasures
from schemas.values.queries import QueryRun, Source
from schemas.values.runs import ScoredRun
from services.questions.lookup import get_query
from stages.queries.augment import SourceText, source_texts
from stages.queries.citations import CITATION, LABEL
from stages.reports.report import build_report, measures_of
from stages.reports.report_sheet import report_sheet
from stages.reports.retrieval import build_retrieval_report
from stages.reports.retrieval_sheet import retrieval_sheet
from stages.reports.tables import as_csv
from stages.reports.words import notices
from stages.texts.characters import commonmark, short_hash
from store.database import Connection
from store.questions import answers, queries, query_runs
from store.questions.queries import StoredResult
from store.questions.query_runs import existing_view
from store.views import reported_run, run_state

_TAGS: Final = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_SCHEMES: Final = {"http", "https", "mailto"}
_OWN_LINK: Final = re.compile(r"#source-S[1-9]\d*")


def answer_html(answer: str, labels: Collection[str]) -> Markup:
    """An answer, with each cited label linked to its source, `#source-S1`; labels without a source are marked.

    HTML in the answer is shown as text, and images as their descriptions. Headings start at level 3.
    """
    rendered: str = _MARKDOWN.render(answer, {"labels": frozenset(labels)})
    clean = nh3.clean(
        rendered,
        tags=_TAGS,
        clean_content_tags=set(),
        attributes={"a": {"href", "class"}, "span": {"class"}, "ol": {"start"}},
        attribute_filter=_attribute,
        url_schemes=_SCHEMES,
        link_rel="noreferrer noopener nofollow",
    )
    return Markup(clean)


def _attribute(tag: str, attribute: str, value: str) -> str | None:
    """Keep links to other sites, and to sources of an answer."""
    if (tag, attribute) != ("a", "href") or _OWN_LINK.fullmatch(value):
        return value
    return value if value.partition(":")[0].lower() in _SCHEMES else None


def _citation(state: StateInline, silent: bool) -> bool:
    """`[S1]` and `[S1, S2]` are citations, whatever follows them; as `stages.queries.citations` finds them."""
    found = CITATION.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("citation", "", 0)
        token.content = found[1]
    state.pos = found.end()
    return True


def _render_citation(_renderer: RendererProtocol, tokens: Sequence[Token], place: int, _options: Any, env: Any) -> str:
    labels = LABEL.findall(tokens[place].content)
    parts = (_render_label(label, env["labels"]) for label in labels)
    return f'<span class="cites">[{", ".join(parts)}]</span>'


def _render_label(label: str, labels: Collection[str]) -> str:
    if label in labels:
        return f'<a class="cite" href="#source-{label}">{label}</a>'
    return f'<span class="cite-unknown">{label} (not in the prompt)</span>'


def _render_image(_renderer: RendererProtocol, tokens: Sequence[Token], place: int, _options: Any, _env: Any) -> str:
    return escape(tokens[place].content)


def _nest_headings(state: StateCore) -> None:
    """Number headings by their nesting: an answer may begin with any level, and skip levels."""
    above: list[int] = []
    for opening, closing in _headings(state.tokens):
        level = int(opening.tag[1:])
        above = [*(one for one in above if one < level), level]
        opening.tag = closing.tag = f"h{min(2 + len(above), 6)}"


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            yield token, tokens[place + 2]


def _markdown() -> MarkdownIt:
    made = commonmark({"html": False}).enable(["table", "strikethrough"])
    # A reference definition could turn every later citation into a link; indented lines of an answer are not code.
    made.disable(["reference", "code"])
    made.inline.ruler.before("link", "citation", _citation)
    made.core.ruler.push("nest_headings", _nest_headings)
    made.add_render_rule("citation", _render_citation)
    made.add_render_rule("image", _render_image)
    return made


_MARKDOWN: Final = _markdown()


#: Characters of an answer that the list shows.
EXCERPT: Final = 340

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ShownSource(NamedTuple):
    """A source of an answer's prompt."""

    source: Source
    text: SourceText | None
    """None when the prompt is no longer stored."""
    is_cited: bool


class ShownAnswer(NamedTuple):
    """An answer with the text of each source in its prompt."""

    result: StoredResult
    html: Markup
    sources: list[ShownSource]
    """Those that it cites, then those that were only in its prompt."""
    prompt: str | None
    """None when it is no longer stored."""


async def shown_answer(connection: Connection, job_id: int, result: StoredResult) -> ShownAnswer:
    """An answer as pages show it, with links to the sources beside it."""
    prompt = await answers.prompt(connection, job_id, result.prompt_hash)
    labels = [source.label for source in result.sources]
    texts = {} if prompt is None else source_texts(prompt, result.sources)
    shown = [ShownSource(source, texts.get(source.label), source.label in result.cited) for source in result.sources]
    return ShownAnswer(
        result=result,
        html=answer_html(result.response_text, labels),
        sources=sorted(shown, key=lambda source: not source.is_cited),
        prompt=prompt,
    )


@router.get("/rag/{query_id:int}/results")
async def results_page(request: Request, ctx: Context, query_id: PathId) -> Response:
    """The answers, newest first."""
    async with ctx.database.connection() as connection:
        view = await existing_view(connection, query_id)
    return page(request, "results.html.j2", line=view.line, view=view, results=view.answers, excerpt=EXCERPT)


@router.get("/rag/{query_id:int}/results/{result_id:int}")
async def result_page(request: Request, ctx: Context, query_id: PathId, result_id: PathId) -> Response:
    """One answer, and the text of each source in its prompt."""
    async with ctx.database.connection() as connection:
        view = await existing_view(connection, query_id)
        result = await queries.result(connection, query_id, result_id)
        shown = await shown_answer(connection, view.line.job_id, result)
    return page(request, "result.html.j2", line=view.line, view=view, answer=shown, result=result)


@router.post("/rag/{query_id:int}/results/{result_id:int}/delete", dependencies=[Depends(csrf)])
async def delete(ctx: Context, query_id: PathId, result_id: PathId) -> Response:
    """Delete the answer; the question is kept."""
    async with ctx.database.connection() as connection:
        await query_runs.delete_result(connection, await get_query(connection, query_id), result_id)
    return RedirectResponse(f"/rag/{query_id}/results", 303)


KEPT_RUNS: Final = 8

#: Matplotlib writes inline styles into its files; nothing else is allowed.
CONTENT_SECURITY_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

files = APIRouter(include_in_schema=False)


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


@router.get("/runs/{run_id}/plots")
async def plots_page(request: Request, ctx: Context, run_id: PathId) -> Response:
    """Every plot for which the run's report has data."""
    run = await _finished_run(ctx, run_id)
    kind = "query" if isinstance(run, QueryRun) else "participant"
    shown = list(notices(kind, run.profile, run.request))
    return page(request, "plots.html.j2", run_id=run_id, notices=shown, plots=await asyncio.to_thread(_kept.of, run))


@files.get("/runs/{run_id}/plots/{name}.svg")
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
    from services import plots
    from services.plots import as_file

    found: Iterator[tuple[str, Markup]]
    if isinstance(run, QueryRun):
        found = plots.retrieval_plots(build_retrieval_report(run, measures=RetrievalMeasures()))
    else:
        found = plots.scored_plots(build_report(run, measures=measures_of(run.settings, {})))
    for title, svg in found:
        yield title, as_file(svg)


def _slug(title: str) -> str:
    """A title as a part of an address.

    >>> _slug("Risk over coverage, with its 95 % band")
    'risk-over-coverage-with-its-95-band'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


class Ending(StrEnum):
    """What a report is written in."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"

    @property
    def media_type(self) -> str:
        """As the header `Content-Type` names it."""
        return "application/json" if self is Ending.JSON else f"text/{self.value}"


@files.get("/runs/{run_id}/report.{ending}")
async def report_file(ctx: Context, run_id: PathId, ending: Ending) -> Response:
    """What `ragq report` writes with `--html`, `--csv` or `--json`; a run that has not finished can be reported too."""
    async with ctx.database.connection() as connection:
        run = await reported_run(connection, run_id)
    text = await asyncio.to_thread(_written, run, ending)
    headers = {"Content-Disposition": f'attachment; filename="r{run_id}-report.{ending}"'}
    if ending is Ending.HTML:
        headers |= {
            "Content-Disposition": f'inline; filename="r{run_id}-report.html"',
            "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        }
    return Response(text, media_type=ending.media_type, headers=headers)


def _written(run: ScoredRun | QueryRun, ending: Ending) -> str:
    if isinstance(run, QueryRun):
        retrieval = build_retrieval_report(run, measures=RetrievalMeasures())
        match ending:
            case Ending.JSON:
                return retrieval.model_dump_json(indent=2)
            case Ending.CSV:
                return as_csv([retrieval_sheet(retrieval)])
    else:
        scored = build_report(run, measures=measures_of(run.settings, {}))
        match ending:
            case Ending.JSON:
                return scored.model_dump_json(indent=2)
            case Ending.CSV:
                return as_csv([report_sheet(scored)])
    # Drawing loads Matplotlib, which takes a second.
    from services.report_pages import report_page, retrieval_page

    return retrieval_page(retrieval) if isinstance(run, QueryRun) else report_page(scored)
