"""`ragq down`: what `ragq up` started, ended in order."""

from collections.abc import Callable

from stack.home import Home
from stack.orphans import end_orphans
from stack.parts import ORDER
from stack.supervision import Supervisor


def down(home: Home, report: Callable[[str], None]) -> list[str]:
    """Stop every part, workers first, and return the names of those that ran; empty when nothing did.

    A worker finishes the tasks it holds, for a minute at most; what it cannot finish is due again later. Data is kept.
    """
    with home.locked():
        return end_all(home, report)


def end_all(home: Home, report: Callable[[str], None] = lambda line: None) -> list[str]:
    """As `down`, by a caller that holds the lock."""
    ended = []
    supervisor = Supervisor(home)
    if supervisor.is_running():
        up = {name for name, part in supervisor.parts().items() if part.is_up}
        for name in reversed([name for name in ORDER if name in up]):
            supervisor.stop(name)
            ended.append(name)
            report(f"{name:<14}stopped")
        supervisor.shutdown()
    if state := home.read_state():
        for name in end_orphans(home, state):
            ended.append(name)
            report(f"{name:<14}left behind by a killed stack, ended")
    home.forget_state()
    return ended
