"""CSRF tokens of forms, and requests from pages of other sites."""

import httpx
import pytest
from fastapi import Depends, FastAPI, Request
from starlette.responses import PlainTextResponse

from api.security.csrf import BROWSER_COOKIE, csrf, csrf_field, csrf_token
from tests.api.security.conftest import LOCAL, Client, MakeToken


@pytest.fixture(autouse=True)
def form(app: FastAPI) -> None:
    """A page with a form, and where it posts to."""

    @app.get("/form")
    async def show(request: Request) -> PlainTextResponse:
        return PlainTextResponse(csrf_token(request))

    @app.post("/form", dependencies=[Depends(csrf)])
    async def sent() -> str:
        return "sent"


async def send(client: httpx.AsyncClient, token: str, **headers: str) -> int:
    return (await client.post("/form", data={"csrf_token": token}, headers=headers)).status_code


async def test_the_token_of_this_browser_is_accepted_and_no_other(visit: Client) -> None:
    async with visit() as mine, visit() as other:
        first, again = (await mine.get("/form")).text, (await mine.get("/form")).text
        others = (await other.get("/form")).text

        assert first == again != others
        assert await send(mine, first) == 200
        assert [await send(mine, token) for token in (others, "", "\u00e9", first + "x")] == [403] * 4
        assert (await mine.post("/form")).status_code == 403
        in_header = [{"X-CSRF-Token": token} for token in (first, first[1:])]
        assert [(await mine.post("/form", headers=headers)).status_code for headers in in_header] == [200, 403]
    async with visit() as without_cookie:
        assert await send(without_cookie, first) == 403


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_cookie_of_a_browser_comes_with_a_form_and_is_httponly_and_samesite(
    visit: Client, scheme: str
) -> None:
    async with visit(scheme=scheme) as client:
        assert "set-cookie" not in (await client.get("/guarded")).headers
        cookie = (await client.get("/form")).headers["set-cookie"]
        assert "set-cookie" not in (await client.get("/form")).headers

    name, *attributes = cookie.split("; ")
    assert name.startswith(f"{BROWSER_COOKIE}=")
    assert attributes == ["HttpOnly", "Path=/", "SameSite=Strict", *(["Secure"] if scheme == "https" else [])]
    async with visit(scheme=scheme) as forger:
        forger.cookies.set(BROWSER_COOKIE, "known", domain=LOCAL)
        assert f"{BROWSER_COOKIE}=" in (await forger.get("/form")).headers["set-cookie"]


def test_the_field_is_hidden_and_escaped() -> None:
    request = Request({"type": "http", "headers": [], "method": "GET", "path": "/"})
    field = csrf_field({"request": request})  # type: ignore[arg-type]  # (a mapping is all that is read of it)

    assert field == f'<input type="hidden" name="csrf_token" value="{csrf_token(request)}">'


async def test_a_page_of_another_origin_changes_nothing_without_an_api_token_and_others_may(
    visit: Client, make_token: MakeToken
) -> None:
    origins = ("https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost", "")
    foreign = [{"Origin": origin} for origin in origins]
    foreign += [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
    for headers in foreign:
        async with visit(**headers) as client:
            for method in ("POST", "PUT", "PATCH", "DELETE"):
                assert (await client.request(method, "/guarded")).status_code == 403, headers
            assert (await client.get("/guarded")).status_code == 200
    ours = {"Origin": f"http://{LOCAL}", "Sec-Fetch-Site": "same-origin"}
    for headers in ({}, ours, {"Sec-Fetch-Site": "none"}):
        async with visit(**headers) as client:
            assert (await client.post("/guarded")).status_code == 200, headers
    async with visit(await make_token(), Origin="https://notes.example") as client:
        assert [(await client.post(path)).status_code for path in ("/form", "/guarded")] == [200, 200]
