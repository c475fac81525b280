"""Who comes in."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api import problems
from api.app import make_app
from api.context import ApiContext
from api.security.authentication import CurrentPrincipal
from schemas.settings.process import ProcessSettings
from store.access.api_tokens import Scope
from store.database import Database
from tests.api.security.conftest import Client, MakeToken, Revoke

HTML = {"Accept": "text/html,*/*;q=0.8"}


def problem(reply: httpx.Response) -> tuple[int, str]:
    assert reply.headers["content-type"] == problems.MEDIA_TYPE
    return reply.status_code, reply.json()["type"].rpartition(":")[2]


@pytest.fixture
def told(app: FastAPI) -> None:
    """Addresses that say who asked."""

    @app.get("/me")
    async def me(principal: CurrentPrincipal) -> dict[str, Any]:
        return {"name": principal.name, "can_write": principal.can_write}


async def test_without_any_token_whoever_is_on_this_machine_comes_in(visit: Client, told: None) -> None:
    async with visit() as client:
        assert (await client.get("/me")).json() == {"name": "open", "can_write": True}
        assert (await client.post("/room")).status_code == 200


async def test_the_first_token_closes_the_doors(visit: Client, make_token: MakeToken, told: None) -> None:
    async with visit() as client:
        assert (await client.get("/room")).status_code == 200
        token = await make_token()

        reply = await client.get("/room")

    assert problem(reply) == (401, "unauthorized")
    assert reply.headers["www-authenticate"] == 'Bearer realm="ragq"'
    assert "`ragq token create NAME`" in reply.json()["detail"]
    async with visit(token) as client:
        assert (await client.get("/me")).json() == {"name": "token:1", "can_write": True}


async def test_the_doors_open_again_when_the_last_token_has_ended(
    visit: Client, make_token: MakeToken, revoke: Revoke
) -> None:
    await make_token("laptop")
    await make_token("old", lifetime=timedelta(seconds=-1))
    await revoke("laptop")

    async with visit() as client:
        assert (await client.get("/room")).status_code == 200


async def test_nobody_from_elsewhere_comes_in_without_a_token(visit: Client) -> None:
    for address in ("10.0.0.9", "::ffff:10.0.0.9", "testclient"):
        async with visit(address=address) as client:
            assert problem(await client.get("/room")) == (401, "unauthorized")


async def test_every_loopback_address_is_here(visit: Client) -> None:
    for address in ("::1", "127.3.2.1", "::ffff:127.0.0.1"):
        async with visit(address=address, name="localhost") as client:
            assert (await client.get("/room")).status_code == 200


async def test_a_proxy_that_hides_where_its_clients_are_opens_nothing(visit: Client) -> None:
    async with visit(name="203.0.113.7") as client:
        assert problem(await client.get("/room")) == (401, "unauthorized")


async def test_a_server_off_loopback_is_never_open(ctx: ApiContext) -> None:
    off = ApiContext(settings=ProcessSettings(ragq_api_host="0.0.0.0"), database=ctx.database, broker=ctx.broker)
    transport = httpx.ASGITransport(make_app(off))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert problem(await client.get("/runs")) == (401, "unauthorized")


async def test_what_is_no_token_opens_nothing_even_where_nobody_has_to_show_one(visit: Client) -> None:
    headers = (b"Bearer ragq_guess", b"Bearer ", b"Basic cmFncTpyYWdx", b"ragq", b"Bearer \xe9")
    async with visit() as client:
        for header in headers:
            reply = await client.get("/room", headers={b"Authorization": header})

            assert problem(reply) == (401, "unauthorized")


async def test_expired_and_revoked_tokens_open_nothing(visit: Client, make_token: MakeToken, revoke: Revoke) -> None:
    ended = [await make_token("revoked"), await make_token("expired", lifetime=timedelta(seconds=-1))]
    await revoke("revoked")

    for token in ended:
        async with visit(token) as client:
            assert problem(await client.get("/room")) == (401, "unauthorized")


async def test_a_token_for_reading_changes_nothing(visit: Client, make_token: MakeToken, told: None) -> None:
    async with visit(await make_token(scope=Scope.READ)) as client:
        assert (await client.get("/me")).json() == {"name": "token:1", "can_write": False}
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert problem(await client.request(method, "/room")) == (403, "forbidden")


async def test_nothing_is_read_of_a_stranger(visit: Client, make_token: MakeToken, app: FastAPI) -> None:
    @app.post("/number")
    async def number(n: int, body: dict[str, int]) -> None: ...

    await make_token()
    async with visit() as client:
        replies = [
            await client.post("/number", content=b"{", headers={"Content-Type": "application/json"}),
            await client.get("/no-such-address"),
            await client.get("/openapi.json"),
        ]

    assert [problem(reply) for reply in replies] == [(401, "unauthorized")] * 3


async def test_a_browser_is_led_to_the_login_and_back(visit: Client, make_token: MakeToken) -> None:
    await make_token()
    async with visit(**HTML) as client:
        asked = await client.get("/runs/7?q=what+was+asked")
        posted = await client.post("/room")

    assert (asked.status_code, asked.headers["location"]) == (303, "/login?next=/runs/7")
    assert (posted.status_code, posted.headers["location"]) == (303, "/login")


async def test_a_part_of_a_page_sends_the_whole_page_to_the_login(visit: Client, make_token: MakeToken) -> None:
    await make_token()
    headers = {"HX-Request": "true", "HX-Current-URL": "http://127.0.0.1/rag/7?x=1"}
    async with visit() as client:
        reply = await client.get("/room", headers=headers)

    assert (reply.status_code, reply.headers["hx-redirect"]) == (401, "/login?next=/rag/7")


async def test_strangers_may_ask_whether_the_server_lives(visit: Client, make_token: MakeToken) -> None:
    token = await make_token()
    async with visit() as stranger, visit(token) as friend:
        assert (await stranger.get("/healthz")).status_code == 200
        assert "parts" not in (await stranger.get("/readyz")).json()
        assert "parts" in (await friend.get("/readyz")).json()
        assert (await stranger.get("/static/style.css")).status_code == 200
        assert (await stranger.post("/readyz")).status_code == 401


async def test_a_database_without_tables_is_told_of(visit: Client, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await connection.execute("DROP TABLE api_session, api_token CASCADE")
    async with visit() as client:
        reply = await client.get("/room")
        ready = await client.get("/readyz")

    assert problem(reply) == (503, "server-unavailable")
    assert "`ragq migrate`" in reply.json()["detail"]
    assert "parts" not in ready.json()


async def test_without_its_database_the_doors_stay_shut(app: FastAPI, visit: Client) -> None:
    await app.state.context.database.close()
    async with visit() as client:
        reply = await client.get("/room")
        ready = await client.get("/readyz")

    assert problem(reply) == (503, "database-unavailable")
    assert "parts" not in ready.json()


async def test_one_statement_lets_somebody_in(
    visit: Client, make_token: MakeToken, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await make_token()
    borrowed = 0
    connection = Database.connection

    def counted(self: Database) -> Any:
        nonlocal borrowed
        borrowed += 1
        return connection(self)

    monkeypatch.setattr(Database, "connection", counted)
    async with visit(token) as client:
        await client.get("/room")

    assert borrowed == 1
