"""Authentication by tokens and sessions, and open access on loopback."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from fastapi import FastAPI

from api.context import ApiContext
from api.security.authentication import CurrentPrincipal
from store import access
from store.database import Database
from tests.api.rest.problems import problem
from tests.api.security.conftest import Client, MakeToken

HTML = {"Accept": "text/html,*/*;q=0.8"}


async def test_local_access_needs_no_token_while_none_is_live(
    visit: Client, make_token: MakeToken, ctx: ApiContext, app: FastAPI
) -> None:
    @app.get("/me")
    async def me(principal: CurrentPrincipal) -> dict[str, Any]:
        return {"name": principal.name, "can_write": principal.can_write}

    async with visit() as client:
        assert (await client.get("/me")).json() == {"name": "open", "can_write": True}
        assert (await client.post("/guarded")).status_code == 200
        token = await make_token("laptop")
        reply = await client.get("/guarded")

        assert problem(reply) == (401, "unauthorized")
        assert reply.headers["www-authenticate"] == 'Bearer realm="ragq"'
        assert "`ragq token create NAME`" in reply.json()["detail"]
        async with visit(token) as holder:
            assert (await holder.get("/me")).json() == {"name": "token:1", "can_write": True}
        await make_token("old", lifetime=timedelta(seconds=-1))
        await ctx.database.once(access.revoke, "laptop")
        assert (await client.get("/guarded")).status_code == 200


async def test_remote_clients_and_those_behind_a_proxy_or_off_loopback_need_a_token(visit: Client) -> None:
    elsewhere: list[dict[str, Any]] = [
        *({"address": address} for address in ("10.0.0.9", "::ffff:10.0.0.9", "testclient")),
        *({"name": "203.0.113.7"}, {"settings": {"ragq_api_host": "0.0.0.0"}}),
    ]
    for where in elsewhere:
        async with visit(**where) as client:
            assert problem(await client.get("/guarded")) == (401, "unauthorized"), where


async def test_an_invalid_token_is_refused_even_under_open_access(visit: Client) -> None:
    headers = (b"Bearer ragq_guess", b"Bearer ", b"Basic cmFncTpyYWdx", b"ragq", b"Bearer \xe9")
    async with visit() as client:
        for header in headers:
            reply = await client.get("/guarded", headers={b"Authorization": header})

            assert problem(reply) == (401, "unauthorized")


async def test_without_a_token_no_body_is_read_and_public_paths_alone_answer(
    visit: Client, make_token: MakeToken, app: FastAPI
) -> None:
    @app.post("/number")
    async def number(n: int, body: dict[str, int]) -> None: ...

    token = await make_token()
    async with visit() as anonymous, visit(token) as authenticated:
        replies = [
            await anonymous.post("/number", content=b"{", headers={"Content-Type": "application/json"}),
            *[await anonymous.get(path) for path in ("/no-such-address", "/openapi.json")],
        ]
        assert [problem(reply) for reply in replies] == [(401, "unauthorized")] * 3
        assert (await anonymous.get("/healthz")).status_code == 200
        assert "parts" not in (await anonymous.get("/readyz")).json()
        assert "parts" in (await authenticated.get("/readyz")).json()
        assert (await anonymous.get("/static/style.css")).status_code == 200
        assert (await anonymous.post("/readyz")).status_code == 401


async def test_a_browser_is_redirected_to_the_login_and_back_and_so_is_a_part_of_a_page(
    visit: Client, make_token: MakeToken
) -> None:
    await make_token()
    async with visit(**HTML) as client:
        asked = await client.get("/ui/runs/7?q=what+was+asked")
        posted = await client.post("/ui/tags")

    assert (asked.status_code, asked.headers["location"]) == (303, "/ui/login?next=/ui/runs/7")
    assert (posted.status_code, posted.headers["location"]) == (303, "/ui/login")
    headers = {"HX-Request": "true", "HX-Current-URL": "http://127.0.0.1/rag/7?x=1"}
    async with visit() as client:
        reply = await client.get("/guarded", headers=headers)

    assert (reply.status_code, reply.headers["hx-redirect"]) == (401, "/ui/login?next=/rag/7")


@pytest.mark.parametrize(
    ("is_there", "slug", "advice"),
    [(True, "server-unavailable", "`ragq db migrate`"), (False, "database-unavailable", "")],
)
async def test_without_its_database_or_tables_nobody_is_authenticated(
    visit: Client, ctx: ApiContext, is_there: bool, slug: str, advice: str
) -> None:
    await ctx.database.once(lambda connection: connection.execute("DROP TABLE api_session, api_token CASCADE"))
    if not is_there:
        await ctx.database.close()
    async with visit() as client:
        reply = await client.get("/guarded")
        ready = await client.get("/readyz")

    assert problem(reply) == (503, slug)
    assert advice in reply.json()["detail"]
    assert "parts" not in ready.json()


async def test_authentication_needs_one_statement(visit: Client, make_token: MakeToken) -> None:
    borrowing = patch.object(Database, "connection", autospec=True, side_effect=Database.connection)
    async with visit(await make_token()) as client:
        with borrowing as borrowed:
            await client.get("/guarded")

    assert borrowed.call_count == 1
