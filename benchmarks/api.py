"""The API under load of readers, subscribers and writers, with a check that every request was stored exactly once."""

import asyncio
import json
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Any, Final

import click
import httpx
import numpy as np
import psutil
import uvloop
from httpx_sse import SSEError, aconnect_sse

from benchmarks.common import Stack, cpu_seconds, show, show_machine, stack
from stack.connections import connections
from stack.ports import LOOPBACK
from store.database import Database
from store.runs import chain

RUNS: Final = 10
_SEED: Final = 7
_WATCHERS: Final = 5
"""One in this many readers follows events."""
_EACH_SENT_TWICE: Final = 5
"""Every fifth question is sent twice concurrently, with the same key."""
_TIMEOUT_S: Final = 60.0
_VISIT_S: Final = (5.0, 15.0)
"""The duration of a subscription."""
_FIRST_EVENT: Final = "GET /runs/{id}/events, first event"
_WORDS: Final = ("tea", "leaf", "oxidation", "bridge", "arch", "cable", "clock", "pendulum", "spring", "escapement")
_STORED: Final = """
SELECT (SELECT array_agg(id ORDER BY id) FROM queries) AS questions, (SELECT array_agg(id ORDER BY id) FROM run) AS runs
"""
_HTML: Final = {"Accept": "text/html"}
#: The requests of a reader: a name, a path, and headers.
_LOOKS: Final[Sequence[tuple[str, str, dict[str, str]]]] = (
    ("GET /rag/queries", "/rag/queries", {}),
    ("GET /rag/queries/{id}", "/rag/queries/{query}", {}),
    ("GET /runs/{id}", "/runs/{run}", {}),
    ("GET /rag, the page", "/rag", _HTML),
    ("GET /rag/{id}, the page", "/rag/{query}", _HTML),
    ("GET /ui/runs/{id}, the page", "/ui/runs/{run}", _HTML),
)
_REPLY: Final = {
    "queries": ["oxidation of the leaf", "why leaves turn brown"],
    "hyde_answer": "Enzymes in the bruised leaf meet oxygen and turn pale compounds into dark ones.",
    "intent": "MECHANISM",
    "entities": ["oxidation"],
}


@dataclass
class Met:
    """What all users measured."""

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
    """A user with a separate connection, who acts until a moment and pauses in between."""

    def __init__(self, http: httpx.AsyncClient, met: Met, random: Random, *, until: float, pause_s: float) -> None:
        self.http = http
        self.met = met
        self.random = random
        self.until = until
        self._pause_s = pause_s

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until

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

    async def pause(self) -> None:
        """Think for half to one and a half of the mean."""
        await asyncio.sleep(self._pause_s * self.random.uniform(0.5, 1.5))


Act = Callable[[User], Awaitable[None]]


@click.command(short_help="The API under readers, subscribers and writers at once")
@click.option("--seconds", default=60.0, show_default=True, help="Duration of the load.")
@click.option("--readers", default=200, show_default=True, help="One of five follows the events of runs.")
@click.option("--writers", default=20, show_default=True, help="Users who create and change questions.")
@click.option("--pause", "pause_s", default=2.0, show_default=True, help="Mean seconds between two requests of a user.")
def api(seconds: float, readers: int, writers: int, pause_s: float) -> None:
    """Let users come to the API of a stack of its own, all at once, and look afterwards for what they asked.

    The users are tasks of this process, on the same cores as everything else. Fails when a request failed, when a
    question was lost or made twice, and when an audit finds a flaw.

    \b
    Example:
        python -m benchmarks api --seconds 20
    """
    show_machine("fastapi", "uvicorn", "sse-starlette", "asyncpg", "httpx")
    watchers = readers // _WATCHERS
    acts = [read] * (readers - watchers) + [watch] * watchers + [write] * writers
    with stack(RAGQ_API_OPEN="1") as running:
        _fill(running)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            flaw = runner.run(_measure(running, acts, seconds, pause_s))
    if flaw:
        raise click.ClickException(flaw)


def _fill(running: Stack, questions: int = 300) -> None:
    """A small corpus and questions that were searched for in it."""
    works = running.folder / "works"
    running.ragq("demo-data", "--works", str(works))
    running.ragq("import", "works", str(works), "--corpus", "default", "--wait")
    random = Random(1)
    asked = running.folder / "questions.jsonl"
    for number in range(RUNS):
        texts = (f"Why has a {' '.join(random.sample(_WORDS, 3))} its form?" for _ in range(questions // RUNS))
        lines = (json.dumps({"_id": f"q{number}-{at}", "text": text}) for at, text in enumerate(texts))
        asked.write_text("\n".join(lines) + "\n")
        running.ran("--queries", str(asked), "--corpus", "default", "--no-expand", "--until", "consolidate")


async def _measure(running: Stack, acts: Sequence[Act], seconds: float, pause_s: float) -> str:
    """Print what the load took. The invariants that it violated, in one sentence; empty without any."""
    (part,) = (part for part in running.parts() if part["name"] == "api")
    process = psutil.Process(part["pid"])
    database = Database(connections(running.environment).database_url, pool_size=1)
    async with database.connection() as connection:
        before = await connection.fetchrow(_STORED)
        met = Met(questions=list(before["questions"]), runs=list(before["runs"])[-RUNS:])
        api_cpu_s, own_cpu_s, began = cpu_seconds(process.pid), time.process_time(), time.monotonic()
        await _together(f"http://{LOOPBACK}:{part['port']}", met, acts, until=began + seconds, pause_s=pause_s)
        wall_s, own_cpu_s = time.monotonic() - began, time.process_time() - own_cpu_s
        api_cpu_s, rss_mb = cpu_seconds(process.pid) - api_cpu_s, process.memory_info().rss / 1e6
        after = await connection.fetchrow(_STORED)
        audits = [await chain.audit(connection, run) for run in after["runs"]]
    await database.close()
    requests, stored = sum(map(len, met.times_ms.values())), len(after["questions"]) - len(before["questions"])
    flaws = sum(len(found) for _, found in audits)
    click.echo(
        f"{requests} requests in {wall_s:.0f} s, {requests / wall_s:.0f} a second, {met.failures.total()} failures; "
        f"{met.events} events\n"
        f"API: {api_cpu_s:.0f} s of processor time, {rss_mb:.0f} MB; the users themselves took {own_cpu_s:.0f} s\n"
        f"{len(met.keys)} keys, {met.sent_twice} of them sent twice, made {stored} questions; audit: {flaws} flaws in "
        f"{sum(attempts for attempts, _ in audits)} attempts"
    )
    for what, times in met.failures.most_common():
        click.echo(f"{times} x {what}")
    rows = (
        (name, len(taken), *(f"{ms:.0f}" for ms in np.percentile(taken, [50, 95, 99])))
        for name, taken in sorted(met.times_ms.items())
    )
    show("Requests", ("", "times", "p50 ms", "p95 ms", "p99 ms"), rows)
    if met.failures:
        return f"{met.failures.total()} requests failed."
    if stored != len(met.keys):
        return f"{len(met.keys)} keys were sent and {stored} questions are stored."
    return f"The audit found {flaws} flaws." if flaws else ""


async def _together(url: str, met: Met, acts: Sequence[Act], *, until: float, pause_s: float) -> None:
    """Let every user act, each with a connection of their own, until the last is done."""
    # Creating one takes longer than a request; all users share it.
    context = ssl.create_default_context()

    async def act(number: int, deed: Act) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=_TIMEOUT_S, verify=context, trust_env=False) as http:
            await deed(User(http, met, Random(_SEED * 10_000 + number), until=until, pause_s=pause_s))

    async with asyncio.TaskGroup() as group:
        for number, deed in enumerate(acts):
            group.create_task(act(number, deed))


async def read(user: User) -> None:
    """Read a list, a question or a run, as JSON or as a page, one after the other."""
    while not user.is_over:
        await user.pause()
        name, path, headers = user.random.choice(_LOOKS)
        seen = {"query": user.random.choice(user.met.questions), "run": user.random.choice(user.met.runs)}
        await user.ask(name, "GET", path.format(**seen), headers=headers)


async def watch(user: User) -> None:
    """Follow one recent run after the other."""
    while not user.is_over:
        await user.pause()
        leaves = min(user.until, time.monotonic() + user.random.uniform(*_VISIT_S))
        await _visit(user, user.random.choice(user.met.runs[-30:]), leaves)


async def _visit(user: User, run: int, leaves: float) -> None:
    """Follow the events of a run until it is time to leave; but for the first event, as long as for any reply."""
    began, events, failure = time.perf_counter(), 0, ""
    try:
        async with (
            asyncio.timeout(_TIMEOUT_S) as staying,
            aconnect_sse(user.http, "GET", f"/runs/{run}/events") as seen,
        ):
            seen.response.raise_for_status()
            async for _ in seen.aiter_sse():
                if not events:
                    user.met.times_ms[_FIRST_EVENT].append((time.perf_counter() - began) * 1000)
                    staying.reschedule(asyncio.get_running_loop().time() + max(0.0, leaves - time.monotonic()))
                events += 1
            failure = "ended by the server"
    except TimeoutError:
        failure = "" if events else "none came"
    except (httpx.HTTPError, SSEError) as error:
        failure = f"{type(error).__name__} {str(error)[:40]}"
    if failure:
        user.met.failures[f"{_FIRST_EVENT}: {failure}"] += 1
    user.met.events += events


async def write(user: User) -> None:
    """Ask one question after the other, some twice at the same time under one key, and change it."""
    for number in count():
        if user.is_over:
            return
        query = await _make(user, twice=number % _EACH_SENT_TWICE == 0)
        await user.pause()
        if query is None:
            continue
        await user.ask("PATCH /rag/queries/{id}", "PATCH", f"/rag/queries/{query}", json={"intent": "COMPARISON"})


async def _make(user: User, *, twice: bool) -> int | None:
    """A new question. None after an error."""
    key = f"{user.random.getrandbits(128):032x}"
    body = {"original_query": f"Why does leaf {key} turn dark?", "response_text": json.dumps(_REPLY)}
    post = partial(user.ask, "POST /rag/expansion/manual", "POST", "/rag/expansion/manual", expects=(200, 201))
    made = await asyncio.gather(*(post(json=body, headers={"Idempotency-Key": key}) for _ in range(1 + twice)))
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
