"""Renders pages: Jinja templates with autoescape."""

import json
from importlib.resources import files
from typing import Any, Final, NamedTuple

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

from api.security.csrf import csrf_field
from schemas.settings.base import value_in_words
from services import listings
from stages.corpora.cut import headings_in_words, lines_in_words, pages_in_words
from stages.metrics.bootstrap import LEAST
from stages.queries.augment import FILTERS
from stages.reports import numbers_in_words, words
from stages.reports.costs import stages_table

#: Address and name of each page that a group leads to.
GROUPS: Final = {
    "Work": (
        ("/rag", "Questions"),
        ("/participants", "Participants"),
        ("/tags", "Tags"),
    ),
    "Results": (("/runs", "Runs"), ("/runs/compare", "Compare")),
    "Data": (("/corpora", "Corpora"), ("/vocabularies", "Vocabularies")),
    "Configuration": (("/presets", "Presets"), ("/templates", "Templates")),
    "Operations": (("/workers", "Workers"),),
    "Help": (("/docs", "API reference"),),
}

#: Pages that belong to a section with another address.
_INSIDE: Final = {"/jobs": "/runs", "/works": "/corpora", "/documents": "/corpora"}


class Link(NamedTuple):
    """A section of the site."""

    path: str
    name: str
    is_current: bool
    """The page that is shown is in it."""


def navigation(request: Request) -> dict[str, list[Link]]:
    """The sections by group, without empty groups."""
    pages = _pages(request.app)
    shown = {group: [link for link in links if link[0] in pages] for group, links in GROUPS.items()}
    current = _current(request.url.path, [path for links in shown.values() for path, _ in links])
    found = {group: [Link(path, name, path == current) for path, name in links] for group, links in shown.items()}
    if flower_url := request.app.state.context.flower_url:
        found["Help"].append(Link(flower_url, "Flower", is_current=False))
    return {group: links for group, links in found.items() if links}


def _pages(app: FastAPI) -> frozenset[str]:
    """The addresses of an application. Walking through its routes takes milliseconds, so they are kept."""
    if not hasattr(app.state, "addresses"):
        found = iter_route_contexts(app.routes)
        app.state.addresses = frozenset(str(route.path) for route in found if "GET" in (route.methods or ()))
    addresses: frozenset[str] = app.state.addresses
    return addresses


def _current(path: str, sections: list[str]) -> str | None:
    """The section that a page is in: the one with the longest address that the page's begins with."""
    for inside, section in _INSIDE.items():
        if path.startswith(f"{inside}/"):
            path = section
    return max((one for one in sections if path == one or path.startswith(f"{one}/")), key=len, default=None)


def took(seconds: float | None) -> str:
    """A duration: `0.42 s`, `1 min 5 s`; nothing for one that is not known."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def indented(value: object) -> str:
    """Stored JSON, indented."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _filter_name(name: str) -> str:
    """The value of a preset behind a filter of stage `rerank`."""
    return FILTERS.get(name, name)


_templates = Jinja2Templates(
    env=Environment(
        loader=FileSystemLoader(str(files("api") / "html")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
)
_templates.env.filters |= {
    "took": took,
    "words": value_in_words,
    "indented": indented,
    "number": numbers_in_words.number,
    "bounds": numbers_in_words.bounds,
    "filter_name": _filter_name,
    "pages": pages_in_words,
    "under": lambda headings, title: headings_in_words(title, headings, " › "),
}
_templates.env.globals |= {
    "csrf_field": csrf_field,
    "navigation": navigation,
    "least": LEAST,
    "lines_in_words": lines_in_words,
    "listings": listings,
    "said": words,
    "stages_table": stages_table,
}


def page(
    request: Request, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A template of `html/` as a reply."""
    return _templates.TemplateResponse(request, template, values, status_code=status, headers=headers)
