"""Who is next: which jobs of the backlog are sent, when the broker has room for a few and many wait. Pure.

Flows take turns by weight, and within a flow the oldest job comes first. Flows compete where they start: those whose
next queue is the same share it, and one that waits for a language model holds up no other. A job is sent only
while each queue that its chain leads to has room, so that a slow stage stops what leads to it.

Interactive work has a list of its own in every queue, which workers empty first. So that a flood of it cannot stop the
rest, it joins the list of the others once it is MOST_AHEAD jobs ahead of them.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

import redis
import structlog
from celery import Celery
from kombu.exceptions import OperationalError

from schemas.statuses import Priority
from stages.ports import OnText
from stages.texts.characters import storable
from store.database import DATABASE_ERRORS, Database
from store.runs import answer_pieces
from workers.app import KEY_PREFIX
from workers.broker import list_of
from workers.messages import BACKGROUND, FIRST, NORMAL, PRIORITIES

Key = TypeVar("Key")

Room: TypeAlias = Mapping[tuple[str, int], int]
"""How many messages more each queue takes, by name and priority."""

#: Interactive jobs that are sent ahead of others.
MOST_AHEAD: Final = 32
#: Each job that is not interactive lets so many interactive ones pass again.
_AHEAD_AGAIN: Final = Priority.INTERACTIVE.weight // Priority.NORMAL.weight
#: Turns of a normal run that a flow may make up for, after a later stage of its chain held it up.
_MOST_OWED: Final = 16


class DueJob(NamedTuple):
    """A job that may be sent."""

    job_id: int
    queues: tuple[str, ...]
    """Those that its stages lead through, the next first."""


@dataclass(frozen=True)
class WaitingFlow:
    """A flow and its oldest jobs."""

    priority: Priority
    is_background: bool
    jobs: Sequence[DueJob]


class Chosen(NamedTuple):
    """A job to send, and the priority of its messages."""

    job_id: int
    priority: int


@dataclass
class _Lane(Generic[Key]):
    """The turns that were taken for one queue."""

    passes: dict[Key, float] = field(default_factory=dict)
    """The turns of each flow so far, divided by its weight: the lowest is next."""
    turn: float = 0.0
    """The pass of the flow that had the last turn; a new flow starts there."""


@dataclass
class Turns(Generic[Key]):
    """The turns that were taken: what `choose` remembers from one call to the next."""

    lanes: dict[tuple[str, bool], _Lane[Key]] = field(default_factory=dict)
    """By queue, and whether it is for indexing."""
    ahead: int = 0
    """Interactive jobs sent since the others had their share."""
    is_contested: bool = False
    """Whether there are others."""

    def choose(self, waiting: Mapping[Key, WaitingFlow], room: Room, *, is_held: bool = False) -> list[Chosen]:
        """The jobs to send now, in order. Nothing stays behind for which there is room.

        `waiting` has every flow, also those none of whose jobs may be sent now. A queue that is not in `room` has none.
        `is_held` when messages wait in the broker that are not interactive.
        """
        others = [flow for flow in waiting.values() if flow.jobs and not flow.is_background]
        self.is_contested = is_held or any(flow.priority is not Priority.INTERACTIVE for flow in others)
        self.ahead = self.ahead if self.is_contested else 0
        starting: dict[tuple[str, bool], dict[Key, list[DueJob]]] = {}
        for key, flow in waiting.items():
            for job in flow.jobs:
                starting.setdefault((job.queues[0], flow.is_background), {}).setdefault(key, []).append(job)
        left = dict(room)
        chosen: list[Chosen] = []
        for place, jobs in starting.items():
            lane = self.lanes.setdefault(place, _Lane())
            lane.passes = {key: turns for key, turns in lane.passes.items() if key in waiting}
            chosen += self._take_turns(waiting, jobs, left, lane)
        return chosen

    def _take_turns(
        self,
        waiting: Mapping[Key, WaitingFlow],
        jobs: Mapping[Key, Sequence[DueJob]],
        left: dict[tuple[str, int], int],
        lane: _Lane[Key],
    ) -> list[Chosen]:
        earliest = lane.turn - _MOST_OWED / Priority.NORMAL.weight
        lane.passes |= {key: max(lane.passes.get(key, lane.turn), earliest) for key in jobs}
        turns = [(lane.passes[key], place, key, 0) for place, key in enumerate(jobs)]
        heapq.heapify(turns)
        chosen: list[Chosen] = []
        while turns:
            turn, place, key, at = heapq.heappop(turns)
            flow, job = waiting[key], jobs[key][at]
            priority = self._priority(flow)
            if all(left.get((queue, priority), 0) > 0 for queue in job.queues):
                chosen.append(Chosen(job.job_id, priority))
                for queue in job.queues:
                    left[queue, priority] -= 1
                lane.turn = turn
                turn = lane.passes[key] = turn + 1 / flow.priority.weight
                if priority == FIRST:
                    self.ahead += self.is_contested
                elif flow.priority is not Priority.INTERACTIVE and not flow.is_background:
                    self.ahead = max(0, self.ahead - _AHEAD_AGAIN)
            if at + 1 < len(jobs[key]):
                heapq.heappush(turns, (turn, place, key, at + 1))
        return chosen

    def _priority(self, flow: WaitingFlow) -> int:
        if flow.is_background:
            return BACKGROUND
        return FIRST if flow.priority is Priority.INTERACTIVE and self.ahead < MOST_AHEAD else NORMAL


_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Depths:
    """What the broker holds."""

    waiting: Mapping[tuple[str, int], int]
    """Messages by queue and priority. A broker without priorities has the same number under each."""
    in_queue: Mapping[str, int]
    """Messages by queue."""


class QueueDepths:
    """Looks at the broker of an application, over a connection that is kept."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        url: str = app.conf.broker_url
        self._redis = (
            redis.Redis.from_url(url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)
            if url.startswith(("redis", "unix"))
            else None
        )

    def read(self, queues: Collection[str]) -> Depths:
        """What the broker holds now. Raises one of BROKER_ERRORS when it cannot be reached."""
        return self._of_any(queues) if self._redis is None else _of_redis(self._redis, queues)

    def close(self) -> None:
        """Close the connection."""
        if self._redis is not None:
            self._redis.close()

    def _of_any(self, queues: Collection[str]) -> Depths:
        with self._app.connection_for_read(connect_timeout=_TIMEOUT_S) as connection:
            try:
                channel = connection.channel()
                declared = {queue: self._app.amqp.queues[queue](channel).queue_declare() for queue in queues}
            except (*connection.connection_errors, *connection.channel_errors) as error:
                raise OperationalError(type(error).__name__) from error
        in_queue = {queue: int(found.message_count) for queue, found in declared.items()}  # type: ignore[union-attr]
        return Depths({(queue, p): count for queue, count in in_queue.items() for p in PRIORITIES}, in_queue)


def _of_redis(client: "redis.Redis", queues: Collection[str]) -> Depths:
    lists = [(queue, priority) for queue in queues for priority in PRIORITIES]
    with client.pipeline(transaction=False) as pipeline:
        for queue, priority in lists:
            pipeline.llen(f"{KEY_PREFIX}{list_of(queue, priority)}")
        lengths = pipeline.execute()
    waiting = dict(zip(lists, lengths, strict=True))
    in_queue = {queue: sum(waiting[queue, priority] for priority in PRIORITIES) for queue in queues}
    return Depths(waiting, in_queue)


log = structlog.get_logger("ragq.stages")

#: Shortest time between two writes.
EVERY_SECONDS: Final = 0.2


@asynccontextmanager
async def published(database: Database, attempt_id: int) -> AsyncIterator[OnText]:
    """Until the block ends, what is handed over is stored as pieces of the attempt, at most five a second.

    Nothing depends on it: while the database does not answer, the pieces that follow are not published.
    """
    stream = _AnswerStream(database, attempt_id)
    publishing = asyncio.create_task(stream.publish())
    try:
        yield stream.add
    finally:
        stream.end()
        await publishing


class _AnswerStream:
    def __init__(self, database: Database, attempt_id: int) -> None:
        self._database = database
        self._attempt_id = attempt_id
        self._waiting: list[str] = []
        self._woken = asyncio.Event()
        self._is_over = asyncio.Event()

    def add(self, text: str) -> None:
        self._waiting.append(text)
        self._woken.set()

    def end(self) -> None:
        self._is_over.set()
        self._woken.set()

    async def publish(self) -> None:
        ordinal = 0
        while not self._is_over.is_set():
            await self._woken.wait()
            self._woken.clear()
            text = storable("".join(self._waiting))
            self._waiting.clear()
            if not text or self._is_over.is_set():
                continue
            ordinal += 1
            try:
                await self._database.once(answer_pieces.add, self._attempt_id, ordinal, text)
            except DATABASE_ERRORS as error:
                log.warning("answer_not_published", attempt_id=self._attempt_id, error_type=type(error).__name__)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._is_over.wait()
