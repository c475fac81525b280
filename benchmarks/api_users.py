"""The users of the API under load and their measurements: readers, subscribers and writers."""

import asyncio
import json
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

import httpx
from httpx_sse import SSEError, aconnect_sse

from store.database import Connection

HEALTH: Final = "GET /healthz"
STATEMENT: Final = "a statement of Postgres"
FIRST_EVENT: Final = "GET /runs/{id}/events, first event"

_TIMEOUT_S: Final = 60.0
_VISIT_S: Final = (5.0, 15.0)
"""The duration of a subscription."""
_PROBE_PAUSE_S: Final = 0.2
_POLL_PAUSE_S: Final = 0.5
_EACH_SENT_TWICE: Final = 5
"""Every fifth question is sent twice concurrently, with the same key."""

_HTML: Final = {"Accept": "text/html"}
#: The requests of a reader, by weight: a name, a path, and headers.
_LOOKS: Final[tuple[tuple[int, str, str, dict[str, str]], ...]] = (
    (3, "GET /rag/queries", "/rag/queries", {}),
    (4, "GET /rag/queries/{id}", "/rag/queries/{query}", {}),
    (3, "GET /runs/{id}", "/runs/{run}", {}),
    (2, "GET /rag, the page", "/rag", _HTML),
    (2, "GET /rag/{id}, the page", "/rag/{query}", _HTML),
    (2, "GET /runs/{id}, the page", "/runs/{run}", _HTML),
)

_WEIGHTS: Final = [weight for weight, *_ in _LOOKS]

_REPLY: Final = {
    "queries": ["oxidation of the leaf", "why leaves turn brown"],
    "hyde_answer": "Enzymes in the bruised leaf meet oxygen and turn pale compounds into dark ones.",
    "intent": "MECHANISM",
    "entities": ["oxidation"],
}


@dataclass
class Met:
    """The measurements of all users."""

    questions: list[int]
    """Questions to read; writers add theirs."""
    runs: list[int]
    times_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Request -> from sending it to the last byte of the reply."""
    failures: Counter[str] = field(default_factory=Counter)
    """Request and error -> count."""
    keys: dict[str, int] = field(default_factory=dict)
    """Key of each request that created a question -> the question."""
    sent_twice: int = 0
    events: int = 0


class User:
    """A user with a separate connection."""

    def __init__(self, http: httpx.AsyncClient, met: Met, random: Random) -> None:
        self.http = http
        self.met = met
        self.random = random

    async def ask(
        self, name: str, method: str, path: str, *, expects: tuple[int, ...] = (200,), **how: Any
    ) -> httpx.Response | None:
        """The reply, timed; None when there was none or another than expected, which is noted."""
        began = time.perf_counter()
        try:
            reply = await self.http.request(method, path, **how)
        except httpx.HTTPError as error:
            self.met.failures[f"{name}: {type(error).__name__}"] += 1
            return None
        self.met.times_ms[name].append((time.perf_counter() - began) * 1000)
        if reply.status_code not in expects:
            self.met.failures[f"{name}: status {reply.status_code}"] += 1
            return None
        return reply

    async def pause(self, mean_s: float) -> None:
        """Think for half to one and a half of the mean."""
        await asyncio.sleep(mean_s * self.random.uniform(0.5, 1.5))


Act = Callable[[User], Awaitable[None]]


async def read(user: User, until: float, pause_s: float) -> None:
    """Read one resource after the other."""
    while time.monotonic() < until:
        await user.pause(pause_s)
        await look(user)


async def look(user: User) -> None:
    """Read a list, a question or a run, as JSON or as a page."""
    ((_, name, path, headers),) = user.random.choices(_LOOKS, _WEIGHTS)
    seen = {"query": user.random.choice(user.met.questions), "run": user.random.choice(user.met.runs)}
    await user.ask(name, "GET", path.format(**seen), headers=headers)


async def watch(user: User, until: float, pause_s: float) -> None:
    """Follow one recent run after the other."""
    while time.monotonic() < until:
        await user.pause(pause_s)
        run = user.random.choice(user.met.runs[-30:])
        leaves = min(until, time.monotonic() + user.random.uniform(*_VISIT_S))
        await visit(user, run, leaves)


async def visit(user: User, run: int, leaves: float) -> None:
    """Follow the events of a run until it is time to leave; but for the first event, as long as for any reply."""
    began, events = time.perf_counter(), 0
    try:
        async with (
            asyncio.timeout(_TIMEOUT_S) as staying,
            aconnect_sse(user.http, "GET", f"/runs/{run}/events") as seen,
        ):
            seen.response.raise_for_status()
            async for _ in seen.aiter_sse():
                if not events:
                    user.met.times_ms[FIRST_EVENT].append((time.perf_counter() - began) * 1000)
                    staying.reschedule(asyncio.get_running_loop().time() + max(0.0, leaves - time.monotonic()))
                events += 1
            user.met.failures[f"{FIRST_EVENT}: ended by the server"] += 1
    except TimeoutError:
        if not events:
            user.met.failures[f"{FIRST_EVENT}: none came"] += 1
    except httpx.HTTPStatusError as error:
        user.met.failures[f"{FIRST_EVENT}: status {error.response.status_code}"] += 1
    except (httpx.HTTPError, SSEError) as error:
        user.met.failures[f"{FIRST_EVENT}: {type(error).__name__}"] += 1
    user.met.events += events


async def write(user: User, until: float, pause_s: float) -> None:
    """Run the steps of one question after the other."""
    for number in count():
        if time.monotonic() >= until:
            return
        await write_one(user, until, pause_s, twice=number % _EACH_SENT_TWICE == 0)


async def write_one(user: User, until: float, pause_s: float, *, twice: bool) -> None:
    """Ask a question, twice at the same time under one key if so, change it, and run its steps."""
    query = await _make(user, twice=twice)
    if query is None:
        return
    await user.pause(pause_s)
    await user.ask("PATCH /rag/queries/{id}", "PATCH", f"/rag/queries/{query}", json={"intent": "COMPARISON"})
    for step in ("embed", "retrieve", "consolidate"):
        if time.monotonic() >= until or not await _take(user, query, step):
            return
        await user.pause(pause_s)


async def _make(user: User, *, twice: bool) -> int | None:
    """A new question. None after an error."""
    key = f"{user.random.getrandbits(128):032x}"
    body = {
        "original_query": f"Why does leaf {key} turn dark?",
        "response_text": json.dumps(_REPLY),
    }
    made = await asyncio.gather(
        *(
            user.ask(
                "POST /rag/expansion/manual",
                "POST",
                "/rag/expansion/manual",
                expects=(200, 201),
                json=body,
                headers={"Idempotency-Key": key},
            )
            for _ in range(1 + twice)
        )
    )
    found = {reply.json()["query_id"] for reply in made if reply is not None}
    user.met.sent_twice += twice
    if len(found) > 1:
        user.met.failures["POST /rag/expansion/manual: two questions under one key"] += 1
    if not found:
        return None
    query: int = min(found)
    user.met.keys[key] = query
    user.met.questions.append(query)
    return query


async def _take(user: User, query: int, step: str) -> bool:
    """Send for a step, and look at its job until it rests. False when something went wrong."""
    name = f"POST /rag/queries/{{id}}/{step}, respond-async"
    path = f"/rag/queries/{query}/{step}"
    began = time.perf_counter()
    sent = await user.ask(name, "POST", path, expects=(200, 202), headers={"Prefer": "respond-async"})
    if sent is None:
        return False
    user.met.runs.append(sent.json()["run_id"])
    if sent.status_code == httpx.codes.OK:
        # A worker was quicker than the reply.
        return True
    while True:
        await user.pause(_POLL_PAUSE_S)
        job = await user.ask("GET /jobs/{id}", "GET", sent.headers["Location"])
        if job is None:
            return False
        found = job.json()
        if found["is_idle"]:
            break
        if time.perf_counter() - began > _TIMEOUT_S:
            user.met.failures[f"{name}: not done after {_TIMEOUT_S:.0f} s"] += 1
            return False
    user.met.times_ms[f"step {step}, until it is seen done"].append((time.perf_counter() - began) * 1000)
    if found["status"] != "succeeded":
        user.met.failures[f"{name}: job {found['status']}"] += 1
        return False
    return True


async def probe_health(user: User, until: float) -> None:
    """Ask for what costs next to nothing: what it takes beside the others is the price of the queue alone."""
    while time.monotonic() < until:
        await asyncio.sleep(_PROBE_PAUSE_S)
        await user.ask(HEALTH, "GET", "/healthz")


async def probe_statement(connection: Connection, statement: str, user: User, until: float) -> None:
    """Run a statement on a question, without the API, on a connection of our own."""
    while time.monotonic() < until:
        await asyncio.sleep(_PROBE_PAUSE_S)
        began = time.perf_counter()
        await connection.fetch(statement, user.random.choice(user.met.questions), None)
        user.met.times_ms[STATEMENT].append((time.perf_counter() - began) * 1000)


async def together(url: str, met: Met, acts: Sequence[Act], *, seed: int) -> None:
    """Let every user act, each with a connection of their own, until the last is done."""
    # Creating one takes longer than a request; all users share it.
    context = ssl.create_default_context()

    async def act(number: int, deed: Act) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=_TIMEOUT_S, verify=context, trust_env=False) as http:
            await deed(User(http, met, Random(seed * 10_000 + number)))

    async with asyncio.TaskGroup() as group:
        for number, deed in enumerate(acts):
            group.create_task(act(number, deed))
