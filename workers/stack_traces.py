r"""Where a process hangs, from what faulthandler wrote of its threads.

>>> dump = 'Thread 0x1 (most recent call first):\n  File "/r/stages/texts/cut.py", line 7 in cut\n'
>>> where_it_hangs(dump, Path("/r"))
'stages/texts/cut.py:7'
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_THREAD: Final = re.compile(r"^(?:Current thread|Thread) 0x[^\n]*\n", re.MULTILINE)
_FRAME: Final = re.compile(r'^  File "([^"\n]{1,500})", line (\d{1,7}) in ([^\n]{1,200})$', re.MULTILINE)
#: The innermost functions of threads that wait, by the file that has them.
_WAITING: Final = re.compile(r"(threading|selectors|queue|futures/_base|futures/thread|workers/loop)\.py$")
_BINDINGS: Final = "workers/bindings/"
#: What runs beside a stage, in threads that stand anywhere when another keeps the interpreter's lock.
_UPKEEP: Final = re.compile("store/|workers/(leases|watchdog|reaper|dispatcher)")


class _Frame(NamedTuple):
    path: str
    line: int


def where_it_hangs(dump: str, root: Path) -> str | None:
    """`file:line` of the innermost frame of ragq's own, in a thread that computes; None when there is none.

    A thread that runs a stage's function comes before the others, one that writes heartbeats after them.
    """
    found = min(_computing(dump, root), key=_rank, default=None)
    return f"{found[0].path}:{found[0].line}" if found else None


def _rank(own: list[_Frame]) -> tuple[bool, bool]:
    return not any(one.path.startswith(_BINDINGS) for one in own), bool(_UPKEEP.match(own[0].path))


def _computing(dump: str, root: Path) -> Iterator[list[_Frame]]:
    for thread in _THREAD.split(dump)[1:]:
        frames = [_Frame(frame[1], int(frame[2])) for frame in _FRAME.finditer(thread)]
        own = [
            frame._replace(path=frame.path.removeprefix(f"{root}/"))
            for frame in frames
            if frame.path.startswith(f"{root}/") and "/site-packages/" not in frame.path.removeprefix(str(root))
        ]
        if own and not _WAITING.search(frames[0].path):
            yield own
