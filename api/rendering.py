"""Renders pages: Jinja templates with autoescape."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

from api.security.csrf import csrf_field
from schemas.values.participants import PHQ8Item
from schemas.values.scoring import LEAST
from services import listings
from services.questions.steps import can_run_all, next_step
from stages.corpora.cut import headings_in_words, lines_in_words
from stages.reports import words
from stages.reports.tables import UI
from stages.reports.words import FILTERS

#: Address and name of each page that a group leads to.
GROUPS: Final = {
    "Work": (("/rag", "Questions"), (f"{UI}/participants", "Participants"), (f"{UI}/tags", "Tags")),
    "Results": ((f"{UI}/runs", "Runs"), (f"{UI}/runs/compare", "Compare")),
    "Data": ((f"{UI}/corpora", "Corpora"), (f"{UI}/vocabularies", "Vocabularies")),
    "Configuration": ((f"{UI}/presets", "Presets"), (f"{UI}/templates", "Templates")),
    "Operations": ((f"{UI}/workers", "Workers"),),
    "Help": (("/docs", "API reference"),),
}

#: Pages that belong to a section with another address.
_INSIDE: Final = {f"{UI}/jobs": f"{UI}/runs", f"{UI}/works": f"{UI}/corpora", f"{UI}/documents": f"{UI}/corpora"}


def navigation(request: Request) -> dict[str, list[tuple[str, str, bool]]]:
    """Address and name of each section, by group, and whether the page that is shown is in it."""
    current = _current(request.url.path, [path for links in GROUPS.values() for path, _ in links])
    found = {group: [(path, name, path == current) for path, name in links] for group, links in GROUPS.items()}
    if flower_url := request.app.state.context.flower_url:
        found["Help"].append((flower_url, "Flower", False))
    return found


def _current(path: str, sections: list[str]) -> str | None:
    """The section that a page is in: the one with the longest address that the page's begins with."""
    for inside, section in _INSIDE.items():
        if path.startswith(f"{inside}/"):
            path = section
    return max((one for one in sections if path == one or path.startswith(f"{one}/")), key=len, default=None)


def took(seconds: float | None) -> str:
    """A duration: `0.42 s`, `0:01:05`; nothing for one that is not known."""
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds < 60 else words.duration(seconds)


def indented(value: object) -> str:
    """Stored JSON, indented."""
    return json.dumps(value, indent=2, ensure_ascii=False)


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
    "indented": indented,
    "number": words.number,
    "bounds": words.bounds,
    "filter_name": lambda name: FILTERS.get(name, name),
    "pages": lambda pages: lines_in_words(pages[0], pages[1], "page"),
    "under": lambda headings, title: headings_in_words(title, headings, " › "),
}
_templates.env.globals |= {
    "UI": UI,
    "csrf_field": csrf_field,
    "navigation": navigation,
    "next_step": next_step,
    "can_run_all": can_run_all,
    "least": LEAST,
    "lines_in_words": lines_in_words,
    "phq8": list(PHQ8Item),
    "listings": listings,
    "said": words,
}


def page(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    wrong: Mapping[str, str] = {},
    notices: Mapping[str, str] = {},
    **values: Any,
) -> HTMLResponse:
    """A template of `html/` as a reply, 422 where something is `wrong` with a form, by field.

    Every template knows the macros of `parts/ui.html.j2` as `ui`, and as `notice` the one that the address names.
    """
    notice = notices.get(request.query_params.get("notice", ""))
    shown = {**values, "request": request, "wrong": wrong, "notice": notice}
    shown["ui"] = _templates.env.get_template("parts/ui.html.j2").make_module(shown)
    return _templates.TemplateResponse(request, template, shown, status_code=422 if wrong else status, headers=headers)
