"""Security headers of replies, and the limits of requests."""

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from hashlib import sha256

import pytest
from fastapi import FastAPI, Request
from starlette.responses import Response
from structlog.testing import capture_logs

from api import problems
from api.security.headers import CONTENT_SECURITY_POLICY, HEADERS
from tests.api.security.conftest import Client, MakeToken


@pytest.fixture
def several(app: FastAPI) -> None:
    """Addresses that fail, that take a body, and that set a policy of their own."""

    @app.get("/broken")
    async def broken() -> None:
        raise ValueError("what a participant said")

    @app.post("/size")
    async def size(request: Request) -> int:
        return len(await request.body())

    @app.post("/sum")
    async def total(numbers: list[int]) -> int:
        return sum(numbers)

    @app.get("/plot/{name}")
    async def plot(name: str) -> Response:
        return Response("<svg/>", media_type="image/svg+xml", headers={"Content-Security-Policy": "sandbox"})


async def test_every_reply_has_the_security_headers(several: None, visit: Client) -> None:
    expected = {"/guarded": 200, "/nowhere": 404, "/broken": 500, "/static/style.css": 200, "/ui/login": 200}
    async with visit() as client:
        for path, status in expected.items():
            reply = await client.get(path)

            assert reply.status_code == status
            assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS
            assert reply.headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")


async def test_it_answers_to_addresses_and_localhost_and_refuses_names_that_another_site_could_rebind(
    visit: Client, make_token: MakeToken
) -> None:
    names = ["127.0.0.1:8420", "localhost:8420", "LOCALHOST", "[::1]:8420", "10.0.0.5"]
    async with visit(await make_token()) as client:
        found = {name: (await client.get("/guarded", headers={"Host": name})).status_code for name in names}
    assert found == dict.fromkeys(names, 200)
    for accept in ["application/json", "text/html"]:
        misled = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8420"]
        broken = ["", "a b", "me@127.0.0.1", "127.0.0.1/x", "[::1"]
        async with visit(Accept=accept) as client:
            replies = {name: await client.get("/guarded", headers={"Host": name}) for name in (*misled, *broken)}

        assert {name: reply.status_code for name, reply in replies.items()} == {
            **dict.fromkeys(misled, 421),
            **dict.fromkeys(broken, 400),
        }
        assert [name for name, reply in replies.items() if name and name in reply.text] == []
    async with visit(settings={"ragq_api_allowed_hosts": "ragq.lan", "ragq_api_host": "box.lan"}) as client:
        for host in ("RAGQ.lan:8420", "box.lan"):
            assert (await client.get("/static/style.css", headers={"Host": host})).status_code == 200


async def in_pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 1024


async def test_a_body_that_is_too_large_is_refused_however_it_comes(several: None, visit: Client) -> None:
    upload = {"Content-Type": "multipart/form-data; boundary=x"}
    async with visit() as client:
        whole = await client.post("/size", content=b"x" * (2048 * 1024 + 1))
        piecemeal = await client.post("/size", content=in_pieces(2049))
        parsed = await client.post("/sum", content=in_pieces(2049), headers={"Content-Type": "application/json"})
        large_files = await client.post("/size", content=in_pieces(20_481), headers=upload)
        fits = await client.post("/size", content=in_pieces(2048))
        files_fit = await client.post("/size", content=in_pieces(2049), headers=upload)

    for reply in (whole, piecemeal, parsed, large_files):
        assert reply.status_code == 413
        assert reply.headers["content-type"] == problems.MEDIA_TYPE
        setting = "RAGQ_API_MAX_UPLOAD_KB" if reply is large_files else "RAGQ_API_MAX_BODY_KB"
        assert setting in reply.json()["detail"]
    assert (fits.json(), files_fit.json()) == (2048 * 1024, 2049 * 1024)


async def drop_by_drop() -> AsyncIterator[bytes]:
    for _ in range(50):
        yield b"x"
        await asyncio.sleep(0.02)


async def test_a_body_that_does_not_arrive_in_time_is_refused(visit: Client) -> None:
    async with visit(settings={"ragq_api_body_seconds": 0.2}) as client:
        reply = await client.post(
            "/rag/expansion/prompt", content=drop_by_drop(), headers={"Content-Type": "application/json"}
        )

    assert (reply.status_code, reply.json()["type"]) == (408, "urn:ragq:problem:request-timeout")
    assert "RAGQ_API_BODY_SECONDS" in reply.json()["detail"]


async def test_other_origins_may_call_only_when_they_are_listed(visit: Client) -> None:
    notes, evil = ({"Origin": f"https://{name}.example"} for name in ("notes", "evil"))
    before = {"Access-Control-Request-Method": "POST"}
    async with visit() as client:
        refused = await client.options("/guarded", headers=notes | before)
    async with visit(settings={"ragq_api_cors_origins": notes["Origin"]}) as client:
        asked = [(await client.options("/guarded", headers=origin | before)).status_code for origin in (notes, evil)]
        sent, of_evil = [await client.post("/guarded", headers=origin) for origin in (notes, evil)]

    assert "access-control-allow-origin" not in refused.headers
    assert (asked, sent.status_code, of_evil.status_code) == ([200, 400], 200, 403)
    assert sent.headers["access-control-allow-origin"] == notes["Origin"]
    assert "access-control-allow-credentials" not in sent.headers


async def test_a_log_line_names_the_route_and_nothing_that_was_sent(
    several: None, visit: Client, make_token: MakeToken
) -> None:
    token = await make_token()
    async with visit(token) as client:
        with capture_logs() as lines:
            await client.get("/plot/secret-name?q=secret-words")
            await client.get("/jobs/999999999?q=secret-words")
            await client.get("/secret-path")
            await client.get("/broken")

    assert [(line["event"], line["route"], line["status"]) for line in lines if line["event"] == "request_served"] == [
        ("request_served", "/plot/{name}", 200),
        ("request_served", "/jobs/{job_id}", 404),
        ("request_served", None, 404),
        ("request_served", "/broken", 500),
    ]
    assert "secret" not in str([line for line in lines if line["event"] == "request_served"])
    [failed] = [line for line in lines if line["event"] == "request_failed"]
    assert (failed["error_type"], failed["route"]) == ("ValueError", "/broken")
    assert failed["place"].startswith(__file__)
    assert token not in str(lines)
    assert "participant" not in str(lines)


async def test_no_inline_script_or_style_is_allowed_but_the_one_of_the_reference_which_loads_nothing_from_elsewhere(
    visit: Client,
) -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    async with visit() as client:
        shown = await client.get("/docs")
        assert [(await client.get(path)).status_code for path in ("/redoc", "/openapi.json")] == [404, 200]
        assert re.findall(r'(?:src|href)="(?![/#])[^"]*"', shown.text) == []
        files = re.findall(r'(?:src|href)="(/static/[^"]*)"', shown.text)
        statuses = [(await client.get(file)).status_code for file in files]

    (script,) = re.findall(r"<script>(.*?)</script>", shown.text, re.DOTALL)
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'self' 'sha256-{allowed}';" in shown.headers["content-security-policy"]
    assert (len(files), set(statuses)) == (3, {200})
