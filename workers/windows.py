"""How many messages the queues hold at most: a few for each stage that live workers run at a time."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from schemas.chains import QUEUES
from store.runs.workers import Capacity
from workers.depths import Depths
from workers.priorities import FIRST, PRIORITIES
from workers.turns import Room

#: Messages for each stage that may run, so that no worker waits until its queue is filled again.
MESSAGES_PER_THREAD: Final = 3
#: Messages for a stage that no worker serves now: enough for one that starts. What leads to the stage then waits.
LEAST_MESSAGES: Final = 16


def windows(workers: Iterable[Capacity]) -> dict[str, int]:
    """The most messages of each queue and priority."""
    threads = Counter(dict.fromkeys(QUEUES, 0))
    for worker in workers:
        threads.update(dict.fromkeys(worker.stages, worker.concurrency))
    return {queue: max(LEAST_MESSAGES, MESSAGES_PER_THREAD * count) for queue, count in threads.items()}


def room(
    windows: Mapping[str, int],
    depths: Depths,
    *,
    set_aside: Mapping[tuple[str, int], int] = MappingProxyType({}),
    others: int | None = None,
) -> Room:
    """How many messages more each queue takes, by name and priority; `others` limits what is not interactive.

    Jobs that a queue has `set_aside` count as messages: they will be sent again, and more of them would wait too.
    """
    limit = {priority: math.inf if priority == FIRST or others is None else others for priority in PRIORITIES}
    return {
        (queue, priority): int(
            min(most - depths.waiting.get((queue, priority), 0) - set_aside.get((queue, priority), 0), limit[priority])
        )
        for queue, most in windows.items()
        for priority in PRIORITIES
    }
