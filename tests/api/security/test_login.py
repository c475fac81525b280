"""Sessions: of browsers that log in and out, and those that are sent as a bearer, for pages of other origins."""

import re

import httpx
import pytest

from api.security.authentication import SESSION_COOKIE
from store.access import hashed
from store.database import Connection
from tests.api.security.conftest import Client, MakeToken

HTML = {"Accept": "text/html"}


def csrf_token_in(page: httpx.Response) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


async def log_in(client: httpx.AsyncClient, token: str, **fields: str) -> httpx.Response:
    csrf_token = csrf_token_in(await client.get("/ui/login"))
    return await client.post("/ui/login", data={"csrf_token": csrf_token, "token": token, **fields})


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_token_opens_a_session_whose_cookie_is_httponly_and_samesite(
    visit: Client, make_token: MakeToken, connection: Connection, scheme: str
) -> None:
    token = await make_token()
    async with visit(scheme=scheme, **HTML) as client:
        reply = await log_in(client, token, next="/ui/runs/7")

        assert (reply.status_code, reply.headers["location"]) == (303, "/ui/runs/7")
        assert (await client.get("/guarded")).status_code == 200
        kept = await connection.fetchval("SELECT session_hash FROM api_session")
        assert kept == hashed(client.cookies[SESSION_COOKIE])
    _, *attributes = reply.headers["set-cookie"].split("; ")
    expected = ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=strict", *(["Secure"] if scheme == "https" else [])]
    assert attributes == expected


async def test_an_invalid_token_opens_no_session(visit: Client, make_token: MakeToken) -> None:
    async with visit(**HTML) as client:
        assert "/ui/logout" not in (await client.get("/ui/runs")).text
        token = await make_token()
        foreign = await client.post("/ui/login", data={"token": token})
        assert foreign.status_code == 403, "it is not the login's own form"
        reply = await log_in(client, "ragq_guess")

        assert reply.status_code == 401
        assert "This token is not valid." in reply.text
        assert "ragq_guess" not in reply.text
        assert SESSION_COOKIE not in client.cookies


async def test_logout_ends_the_session_on_the_server_too(
    visit: Client, make_token: MakeToken, connection: Connection
) -> None:
    async with visit(**HTML) as client:
        await log_in(client, await make_token())
        session = client.cookies[SESSION_COOKIE]

        page = await client.get("/ui/login?next=/rag")
        wrong = await client.post("/ui/logout", data={"csrf_token": csrf_token_in(page)})
        assert wrong.status_code == 403, "the login's form is bound to another cookie than the session"
        left = await client.post("/ui/logout", data={"csrf_token": csrf_token_in(await client.get("/ui/runs"))})

        assert (left.status_code, left.headers["location"]) == (303, "/ui/login")
        assert SESSION_COOKIE not in client.cookies
        client.cookies.set(SESSION_COOKIE, session)
        assert (await client.get("/guarded")).status_code == 401
    assert await connection.fetchval("SELECT count(*) FROM api_session") == 0


async def test_a_login_redirects_to_no_other_site(visit: Client, make_token: MakeToken) -> None:
    token = await make_token()
    elsewhere = (
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "/\t/evil.example",
        "",
    )
    for path in elsewhere:
        async with visit(**HTML) as client:
            assert 'name="next" value="/rag"' in (await client.get("/ui/login", params={"next": path})).text
            assert (await log_in(client, token, next=path)).headers["location"] == "/rag", path


async def test_login_attempts_are_limited(visit: Client, make_token: MakeToken) -> None:
    token = await make_token()
    async with visit() as client, visit(address="10.0.0.9") as elsewhere:
        tries = [(await log_in(client, "ragq_guess")).status_code for _ in range(10)]
        refused = await log_in(client, token)

        assert tries == [401] * 10
        assert (refused.status_code, "Too many login attempts." in refused.text) == (429, True)
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert (await log_in(elsewhere, token)).status_code == 303
