"""Renders pages: Jinja templates with autoescape."""

import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

from api.navigation import navigation
from api.security.csrf import csrf_field
from schemas.settings.words import value_in_words
from stages.corpora.pages import pages_in_words
from stages.metrics.bootstrap import LEAST
from stages.queries.basis_words import FILTERS
from stages.reports import numbers_in_words


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
}
_templates.env.globals |= {"csrf_field": csrf_field, "navigation": navigation, "least": LEAST}


def page(
    request: Request, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A template of `html/` as a reply."""
    return _templates.TemplateResponse(request, template, values, status_code=status, headers=headers)
