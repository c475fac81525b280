"""`ragq down`: what `ragq up` started, ended in order."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final

from stack.home import Home, State
from stack.orphans import end_orphans
from stack.parts import SERVERS, in_order
from stack.supervision import Supervisor
from stages.reports.numbers_in_words import counted
from store.database import DATABASE_ERRORS, Database
from store.runs.given_back import given_back_since

_ASKED_S = 2.0
_UNANSWERED: Final[tuple[type[BaseException], ...]] = (*DATABASE_ERRORS, ValueError)


def down(home: Home, report: Callable[[str], None]) -> list[str]:
    """Stop every part, servers last, and return the names of those that ran; empty when nothing did.

    A worker finishes the stages it holds, for RAGQ_STOP_SECONDS at most; what it cannot finish is due again later. Data
    is kept.
    """
    with home.locked():
        return end_all(home, report)


def end_all(home: Home, report: Callable[[str], None] = lambda line: None) -> list[str]:
    """As `down`, by a caller that holds the lock."""
    ended = []
    supervisor = Supervisor(home)
    state = home.read_state()
    if supervisor.is_running():
        up = in_order(name for name, part in supervisor.parts().items() if part.is_up)
        began = time.time()
        # What asks servers, then the servers: a stage that lost its server would fail instead of starting again later.
        for is_server in (False, True):
            ended += _stop_together(supervisor, [name for name in up if (name in SERVERS) is is_server], report)
            if not is_server and state is not None and (given_back := _given_back(state, began)):
                report(f"{counted(given_back, 'unfinished stage')} given back, for the next workers to start again.")
        supervisor.shutdown()
    if state is not None:
        for name in end_orphans(home, state):
            ended.append(name)
            report(f"{name:<14}left behind by a killed stack, ended")
    home.forget_state()
    return ended


def _given_back(state: State, since: float) -> int:
    """The stages that workers gave back while they were stopped; 0 where the database cannot be asked."""

    async def ask() -> int:
        database = Database(state.servers["DATABASE_URL"], pool_size=1)
        try:
            async with asyncio.timeout(_ASKED_S), database.connection() as connection:
                return await given_back_since(connection, time.time() - since)
        finally:
            await database.close()

    try:
        return asyncio.run(ask())
    except _UNANSWERED:
        # Not the place to report it: what is stopped is stopped.
        return 0


def _stop_together(supervisor: Supervisor, names: Sequence[str], report: Callable[[str], None]) -> list[str]:
    ended = []
    with ThreadPoolExecutor(max_workers=max(len(names), 1)) as threads:
        stopping = {threads.submit(supervisor.stop, name): name for name in names}
        for done in as_completed(stopping):
            done.result()
            ended.append(stopping[done])
            report(f"{stopping[done]:<14}stopped")
    return ended
