"""The sections of the site, as every page lists them: those whose page exists."""

from typing import Final, NamedTuple

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.requests import Request

#: Address and name of each page that a group leads to.
GROUPS: Final = {
    "Work": (
        ("/rag", "Questions"),
        ("/participants", "Participants"),
        ("/tags", "Tags"),
    ),
    "Results": (("/runs", "Runs"), ("/runs/compare", "Compare"), ("/failures", "Failures")),
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
