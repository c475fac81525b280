"""`/runs/{id}/settings`: every setting of a run, those that its user changed first."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import PathId, SearchWords
from api.rendering import page
from api.routes import PageRoute
from schemas.settings.base import value_in_words
from schemas.settings.changes import changed_settings
from stages.reports.words import origin_words
from store.runs import overviews, stored_runs
from store.runs.run_view import run_origin

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/runs/{run_id}/settings")
async def settings_page(request: Request, ctx: Context, run_id: PathId, search: SearchWords = "") -> Response:
    """The settings with the words of a search in name, value or source; without a search, all."""
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, run_id)
        frozen = await stored_runs.settings(connection, run_id)
        origin = await run_origin(connection, run_id)
    changed = changed_settings(overview.profile, frozen)
    words = search.lower().split()
    found = {name: entry for name, entry in sorted(frozen.items()) if _matches(name, entry, words)}
    return page(
        request,
        "run_settings.html.j2",
        overview=overview,
        search=search,
        total=len(frozen),
        changed={name: changed[name] for name in changed if name in found},
        rest={name: entry for name, entry in found.items() if name not in changed},
        origin=list(origin_words(origin)),
        models=origin.models,
    )


def _matches(name: str, entry: Mapping[str, Any], words: list[str]) -> bool:
    text = f"{name} {value_in_words(entry['value'])} {entry['source']}".lower()
    return all(word in text for word in words)
