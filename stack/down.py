"""`ragq down`: what `ragq up` started, ended in order."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from stack.home import Home
from stack.orphans import end_orphans
from stack.parts import ORDER, SERVERS
from stack.supervision import Supervisor

#: What asks servers, then the servers: a stage that lost its server would fail instead of starting again later.
STOPPED_TOGETHER = (tuple(name for name in ORDER if name not in SERVERS), SERVERS)


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
    if supervisor.is_running():
        up = {name for name, part in supervisor.parts().items() if part.is_up}
        for group in STOPPED_TOGETHER:
            ended += _stop_together(supervisor, [name for name in group if name in up], report)
        supervisor.shutdown()
    if state := home.read_state():
        for name in end_orphans(home, state):
            ended.append(name)
            report(f"{name:<14}left behind by a killed stack, ended")
    home.forget_state()
    return ended


def _stop_together(supervisor: Supervisor, names: Sequence[str], report: Callable[[str], None]) -> list[str]:
    ended = []
    with ThreadPoolExecutor(max_workers=len(ORDER)) as threads:
        stopping = {threads.submit(supervisor.stop, name): name for name in names}
        for done in as_completed(stopping):
            done.result()
            ended.append(stopping[done])
            report(f"{stopping[done]:<14}stopped")
    return ended
