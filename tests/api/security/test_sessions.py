"""Sessions that are sent as a bearer, for pages of other origins."""

import httpx

from api.app import make_app
from api.context import ApiContext
from schemas.settings.process import ProcessSettings
from store.access import Scope
from tests.api.security.conftest import Client, MakeToken

NOTES = "https://notes.example"


async def opened(client: httpx.AsyncClient, token: str) -> str:
    reply = await client.post("/sessions", json={"token": token})
    assert reply.status_code == 201, reply.text
    session: str = reply.json()["session"]
    return session


async def test_a_token_opens_a_session_that_is_sent_instead(visit: Client, make_token: MakeToken) -> None:
    token = await make_token()
    async with visit() as anonymous:
        reply = await anonymous.post("/sessions", json={"token": token})

    assert (reply.status_code, reply.json()["expires_in"]) == (201, 12 * 3600)
    assert token not in reply.text
    async with visit(reply.json()["session"]) as client:
        assert (await client.post("/guarded")).status_code == 200


async def test_ending_a_session_does_not_end_a_token(visit: Client, make_token: MakeToken) -> None:
    async with visit(await make_token()) as client:
        assert (await client.delete("/sessions/current")).status_code == 204
        assert (await client.get("/guarded")).status_code == 200


async def test_a_session_of_a_read_only_token_reads_and_ends(visit: Client, make_token: MakeToken) -> None:
    async with visit() as anonymous:
        session = await opened(anonymous, await make_token(scope=Scope.READ))
    async with visit(session) as client:
        assert (await client.get("/guarded")).status_code == 200
        assert (await client.post("/guarded")).status_code == 403
        assert (await client.delete("/sessions/current")).status_code == 204
        assert (await client.get("/guarded")).status_code == 401


async def test_no_other_token_opens_a_session_and_attempts_are_counted(visit: Client) -> None:
    async with visit() as client:
        tries = [await client.post("/sessions", json={"token": "ragq_guess"}) for _ in range(11)]

    assert [reply.status_code for reply in tries] == [401] * 10 + [429]
    assert tries[0].json()["type"] == "urn:ragq:problem:unauthorized"
    assert "ragq_guess" not in tries[0].text


async def test_only_a_page_of_a_listed_origin_opens_a_session(
    ctx: ApiContext, visit: Client, make_token: MakeToken
) -> None:
    token = await make_token()
    async with visit(Origin=NOTES) as foreign:
        assert (await foreign.post("/sessions", json={"token": token})).status_code == 403
    settings = ProcessSettings(ragq_api_cors_origins=NOTES)
    listing = make_app(ApiContext(settings=settings, database=ctx.database, broker=ctx.broker))
    transport = httpx.ASGITransport(listing)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers={"Origin": NOTES}) as client:
        session = await opened(client, token)
        shown = await client.get("/runs", headers={"Authorization": f"Bearer {session}"})
        refused = await client.get("/runs")

    assert (shown.status_code, shown.headers["access-control-allow-origin"]) == (200, NOTES)
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, NOTES)
    assert "set-cookie" not in shown.headers
