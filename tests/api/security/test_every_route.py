"""Every route of the application is guarded."""

import re
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from api.context import ApiContext
from api.pages import PAGES
from store import access
from store.access import Scope
from tests.api.security.conftest import LOCAL, Client, MakeToken

SAFE = {"GET", "HEAD", "OPTIONS"}
#: The addresses that need no authentication.
PUBLIC_PATHS = {
    *(("GET", path) for path in ("/ui/login", "/health", "/healthz", "/readyz")),
    ("POST", "/ui/login"),
}
#: A read-only token may use it to end its session.
ENDS_SESSION = {("POST", "/ui/logout")}
Asked = dict[tuple[str, str], int]


def addresses(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Method and path of every route, the files of the pages left out."""
    for route in iter_route_contexts(app.routes):
        for method in sorted(route.methods or ()):
            if route.path is not None and method != "HEAD":
                yield method, route.path


async def ask(client: httpx.AsyncClient, app: FastAPI, *, leave_out: set[tuple[str, str]] = PUBLIC_PATHS) -> Asked:
    """The status of every address, with ids of what does not exist."""
    return {
        (method, path): (await client.request(method, re.sub(r"\{[^}]*\}", "999999999", path))).status_code
        for method, path in addresses(app)
        if (method, path) not in leave_out
    }


def reading(app: FastAPI) -> set[tuple[str, str]]:
    return {(method, path) for method, path in addresses(app) if method in SAFE}


@pytest.mark.parametrize(("accept", "pages"), [("application/json", "/ui"), ("text/html", "/ui|/rag|/docs$|/$")])
async def test_every_route_asks_for_a_live_token(
    app: FastAPI, visit: Client, make_token: MakeToken, ctx: ApiContext, accept: str, pages: str
) -> None:
    ended = [await make_token("expired", lifetime=timedelta(seconds=-1)), await make_token("revoked")]
    await make_token()
    await ctx.database.once(access.revoke, "revoked")
    for token in (None, *ended):
        async with visit(token, Accept=accept) as client:
            found = await ask(client, app)

        assert found == {at: 401 if token or not re.match(pages, at[1]) else 303 for at in found}
    assert {("GET", "/openapi.json"), ("POST", "/ui/logout"), ("GET", "/guarded")} <= found.keys()
    assert {path.split("/")[1] for _, path in found} >= {"rag", "runs", "jobs"}


async def test_a_read_only_token_changes_nothing_anywhere(app: FastAPI, visit: Client, make_token: MakeToken) -> None:
    async with visit(await make_token(scope=Scope.READ)) as client:
        found = await ask(client, app, leave_out=PUBLIC_PATHS | reading(app) | ENDS_SESSION)

    assert found == dict.fromkeys(found, 403)


async def test_a_page_of_another_origin_changes_nothing_anywhere(app: FastAPI, visit: Client) -> None:
    async with visit(Origin="https://evil.example", Accept="text/html") as client:
        found = await ask(client, app, leave_out=reading(app))

    assert found == dict.fromkeys(found, 403)
    assert ("POST", "/ui/login") in found


async def test_no_page_accepts_a_form_without_its_csrf_token(app: FastAPI, visit: Client) -> None:
    routes = [route for router in PAGES for route in iter_route_contexts(router.routes)]
    forms = {("POST", str(route.path)) for route in routes if "POST" in (route.methods or ())}
    assert len(forms) >= 10
    async with visit(Accept="text/html", Origin=f"http://{LOCAL}") as client:
        found = await ask(client, app, leave_out={*addresses(app)} - forms)

    assert found == dict.fromkeys(forms, 403)
