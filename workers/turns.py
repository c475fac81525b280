"""Who is next: which jobs of the backlog are sent, when the broker has room for a few and many wait. Pure.

Flows take turns by weight, and within a flow the oldest job comes first. Flows compete where they start: those whose
next queue is the same share it, and one that waits for a language model holds up no other. A job is sent only
while each queue that its chain leads to has room, so that a slow stage stops what leads to it.

Interactive work has a list of its own in every queue, which workers empty first. So that a flood of it cannot stop the
rest, it joins the list of the others once it is MOST_AHEAD jobs ahead of them.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

import redis
from celery import Celery, chain
from kombu.exceptions import OperationalError

from schemas.chains import INDEXING, QUEUES
from schemas.statuses import Priority
from store.runs.backlog import FlowKind
from store.runs.jobs import PendingChain
from workers.app import BROKER_ERRORS, KEY_PREFIX
from workers.broker import FIRST, NORMAL, PRIORITIES, list_of, priority_of

Key = TypeVar("Key")

Room: TypeAlias = Mapping[tuple[str, int], int]
"""How many messages more each queue takes, by name and priority."""

#: Interactive jobs that are sent ahead of others.
MOST_AHEAD: Final = 32
#: Each job that is not interactive lets so many interactive ones pass again.
_AHEAD_AGAIN: Final = Priority.INTERACTIVE.weight // Priority.NORMAL.weight
#: Turns of a normal run that a flow may make up for, after a later stage of its chain held it up.
_MOST_OWED: Final = 16


@dataclass
class WaitingFlow:
    """A flow, and what was read of it."""

    of: FlowKind
    jobs: dict[int, PendingChain] = field(default_factory=dict)
    """The oldest first."""
    last: int = 0
    """The newest job that was read."""
    is_read: bool = False
    """There is no more to read."""

    @property
    def is_background(self) -> bool:
        return self.of.kind in INDEXING


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

    def choose(self, waiting: Mapping[Key, WaitingFlow], room: Room, *, is_held: bool = False) -> dict[int, int]:
        """The jobs to send now, in order, with the priority of their messages. Nothing stays behind that has room.

        `waiting` has every flow, also those none of whose jobs may be sent now. A queue that is not in `room` has none.
        `is_held` when messages wait in the broker that are not interactive.
        """
        others = [flow for flow in waiting.values() if flow.jobs and not flow.is_background]
        self.is_contested = is_held or any(flow.of.priority is not Priority.INTERACTIVE for flow in others)
        self.ahead = self.ahead if self.is_contested else 0
        starting: dict[tuple[str, bool], dict[Key, list[int]]] = {}
        for key, flow in waiting.items():
            for job_id, due in flow.jobs.items():
                starting.setdefault((due.queues[0], flow.is_background), {}).setdefault(key, []).append(job_id)
        left = dict(room)
        chosen: dict[int, int] = {}
        for place, jobs in starting.items():
            lane = self.lanes.setdefault(place, _Lane())
            lane.passes = {key: turns for key, turns in lane.passes.items() if key in waiting}
            chosen |= self._take_turns(waiting, jobs, left, lane)
        return chosen

    def _take_turns(
        self,
        waiting: Mapping[Key, WaitingFlow],
        jobs: Mapping[Key, Sequence[int]],
        left: dict[tuple[str, int], int],
        lane: _Lane[Key],
    ) -> dict[int, int]:
        earliest = lane.turn - _MOST_OWED / Priority.NORMAL.weight
        lane.passes |= {key: max(lane.passes.get(key, lane.turn), earliest) for key in jobs}
        turns = [(lane.passes[key], place, key, 0) for place, key in enumerate(jobs)]
        heapq.heapify(turns)
        chosen: dict[int, int] = {}
        while turns:
            turn, place, key, at = heapq.heappop(turns)
            flow, job_id = waiting[key], jobs[key][at]
            queues, priority = flow.jobs[job_id].queues, priority_of(flow.of.kind, flow.of.priority)
            if priority == FIRST and self.ahead >= MOST_AHEAD:
                priority = NORMAL
            if all(left.get((queue, priority), 0) > 0 for queue in queues):
                chosen[job_id] = priority
                for queue in queues:
                    left[queue, priority] -= 1
                lane.turn = turn
                turn = lane.passes[key] = turn + 1 / flow.of.priority.weight
                if priority == FIRST:
                    self.ahead += self.is_contested
                elif flow.of.priority is not Priority.INTERACTIVE and not flow.is_background:
                    self.ahead = max(0, self.ahead - _AHEAD_AGAIN)
            if at + 1 < len(jobs[key]):
                heapq.heappush(turns, (turn, place, key, at + 1))
        return chosen


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
        lists = [(queue, priority) for queue in queues for priority in PRIORITIES]
        if self._redis is not None:
            with self._redis.pipeline(transaction=False) as pipeline:
                for queue, priority in lists:
                    pipeline.llen(f"{KEY_PREFIX}{list_of(queue, priority)}")
                lengths = pipeline.execute()
            waiting = dict(zip(lists, lengths, strict=True))
            return Depths(waiting, {queue: sum(waiting[queue, one] for one in PRIORITIES) for queue in queues})
        with self._app.connection_for_read(connect_timeout=_TIMEOUT_S) as connection:
            try:
                channel = connection.channel()
                declared = {queue: self._app.amqp.queues[queue](channel).queue_declare() for queue in queues}
            except (*connection.connection_errors, *connection.channel_errors) as error:
                raise OperationalError(type(error).__name__) from error
        in_queue = {queue: int(found.message_count) for queue, found in declared.items()}  # type: ignore[union-attr]
        return Depths({(queue, priority): in_queue[queue] for queue, priority in lists}, in_queue)

    def close(self) -> None:
        if self._redis is not None:
            self._redis.close()


#: Messages for each stage that may run, so that no worker waits until its queue is filled again.
MESSAGES_PER_THREAD: Final = 3
#: Messages for a stage that no worker serves now: enough for one that starts. What leads to the stage then waits.
LEAST_MESSAGES: Final = 16


def windows(workers: Iterable[tuple[Iterable[str], int]]) -> dict[str, int]:
    """The most messages of each queue and priority, by the stages of each worker and how many it runs at a time."""
    threads = Counter(dict.fromkeys(QUEUES, 0))
    for stages, at_a_time in workers:
        threads.update(dict.fromkeys(stages, at_a_time))
    return {queue: max(LEAST_MESSAGES, MESSAGES_PER_THREAD * count) for queue, count in threads.items()}


def room(
    windows: Mapping[str, int], depths: Depths, *, set_aside: Mapping[tuple[str, int], int] = MappingProxyType({})
) -> Room:
    """How many messages more each queue takes, by name and priority. Jobs that a queue has `set_aside` count as
    messages: they will be sent again, and more of them would wait too."""
    return {
        (queue, priority): most - depths.waiting.get((queue, priority), 0) - set_aside.get((queue, priority), 0)
        for queue, most in windows.items()
        for priority in PRIORITIES
    }


def send(app: Celery, due: Sequence[PendingChain], priorities: Mapping[int, int] = MappingProxyType({})) -> int:
    """Send a message for each chain, in order, until the broker goes away, which costs no work. How many were sent."""
    sent = 0
    with suppress(*BROKER_ERRORS), app.producer_or_acquire() as producer:
        for pending in due:
            priority = priorities.get(pending.job_id, priority_of(pending.kind, Priority.NORMAL))
            messages = [
                app.signature(
                    f"ragq.{stage.stage}",
                    kwargs={"run": pending.run_id, "job": pending.job_id, "subject": pending.subject},
                    immutable=True,
                    options={
                        "task_id": f"j{pending.job_id}:{stage.stage}:{stage.attempt}",
                        "queue": stage.queue,
                        "priority": priority,
                    },
                )
                for stage in pending.stages
            ]
            chain(*messages, app=app).apply_async(producer=producer, root_id=f"r{pending.run_id}")
            sent += 1
    return sent
