"""Simulated users against a small fake API: what counts as a failure, and what is recorded."""

import json
import time
from collections.abc import Callable
from itertools import count
from random import Random

import httpx
import pytest

from benchmarks import api_users
from benchmarks.api_users import FIRST_EVENT, Met, User, look, visit, write_one

Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_users, "_POLL_PAUSE_S", 0.0)


class StandIn:
    """An API whose jobs are done at once. With `doubles` each request makes a question, whatever its key."""

    def __init__(self, *, doubles: bool = False) -> None:
        self.doubles = doubles
        self.seen: list[str] = []
        self._kept: dict[str, int] = {}
        self._numbers = count(1)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(f"{request.method} {request.url.path}")
        if request.url.path == "/rag/expansion/manual":
            key = request.headers["Idempotency-Key"]
            query = next(self._numbers) if self.doubles else self._kept.setdefault(key, next(self._numbers))
            return httpx.Response(200, json={"query_id": query})
        if request.method == "POST":
            return httpx.Response(202, json={"run_id": 4}, headers={"Location": "/jobs/9"})
        return httpx.Response(200, json={"is_idle": True, "status": "succeeded"})


def user_of(handler: Handler, met: Met) -> User:
    http = httpx.AsyncClient(base_url="http://127.0.0.1", transport=httpx.MockTransport(handler))
    return User(http, met, Random(3))


def met() -> Met:
    return Met(questions=[1], runs=[2])


async def _write_one(user: User) -> None:
    await write_one(user, time.monotonic() + 3600, 0.0, twice=True)


async def test_a_writer_runs_the_steps_of_a_question() -> None:
    api, seen = StandIn(), met()
    await _write_one(user_of(api, seen))
    assert api.seen == [
        "POST /rag/expansion/manual",
        "POST /rag/expansion/manual",
        "PATCH /rag/queries/1",
        "POST /rag/queries/1/embed",
        "GET /jobs/9",
        "POST /rag/queries/1/retrieve",
        "GET /jobs/9",
        "POST /rag/queries/1/consolidate",
        "GET /jobs/9",
    ]
    assert not seen.failures
    assert (seen.questions, seen.runs, seen.sent_twice) == ([1, 1], [2, 4, 4, 4], 1)


async def test_two_questions_under_one_key_are_a_failure() -> None:
    seen = met()
    await _write_one(user_of(StandIn(doubles=True), seen))
    assert seen.failures == {"POST /rag/expansion/manual: two questions under one key": 1}


async def test_another_status_is_a_failure_and_timed() -> None:
    seen = met()
    await user_of(lambda _: httpx.Response(503), seen).ask("GET /x", "GET", "/x")
    assert seen.failures == {"GET /x: status 503": 1}
    assert len(seen.times_ms["GET /x"]) == 1


async def test_a_lost_connection_is_a_failure_and_not_timed() -> None:
    def lose(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("gone", request=request)

    seen = met()
    await user_of(lose, seen).ask("GET /x", "GET", "/x")
    assert seen.failures == {"GET /x: ReadError": 1}
    assert not seen.times_ms


async def test_a_reader_reads_existing_questions() -> None:
    paths = set()

    def note(request: httpx.Request) -> httpx.Response:
        paths.add(request.url.path)
        return httpx.Response(200, json={})

    reader = user_of(note, met())
    for _ in range(60):
        await look(reader)
    assert paths == {"/rag", "/rag/1", "/rag/queries", "/rag/queries/1", "/runs/2"}


async def test_events_that_end_by_themselves_are_a_failure() -> None:
    def two_events(_: httpx.Request) -> httpx.Response:
        body = "".join(f"event: changed\ndata: {json.dumps({'run': 2})}\n\n" for _ in range(2))
        return httpx.Response(200, text=body, headers={"Content-Type": "text/event-stream"})

    seen = met()
    await visit(user_of(two_events, seen), 2, time.monotonic() + 3600)
    assert (seen.events, len(seen.times_ms[FIRST_EVENT])) == (2, 1)
    assert seen.failures == {f"{FIRST_EVENT}: ended by the server": 1}


async def test_events_that_are_refused_are_a_failure() -> None:
    seen = met()
    await visit(user_of(lambda _: httpx.Response(503), seen), 2, time.monotonic() + 3600)
    assert seen.failures == {f"{FIRST_EVENT}: status 503": 1}
