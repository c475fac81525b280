"""The process of a watchdog: `python -m workers.watchdog_process`. It reads the pulse of its worker from stdin.

While the pulse comes it imports nothing but the standard library, so that it takes little memory.
"""

import json
import os
import select
import time
from typing import TYPE_CHECKING, Final

from workers.watchdog_orders import FAREWELL, PULSE, Orders

if TYPE_CHECKING:
    from workers.rescue import Rescue

_AT_ONCE: Final = 65536


def main() -> None:
    """Watch until the worker ends."""
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(0, 1)
        if not read:
            return
        line += read
    _watch(Orders(**json.loads(line)))


def _watch(orders: Orders) -> None:
    rescue: Rescue | None = None
    heard_at = time.monotonic()
    traceback = b""
    while True:
        ready, _, _ = select.select([0], [], [], orders.silence_s if rescue is None else orders.heartbeat_s)
        read = os.read(0, _AT_ONCE) if ready else None
        if read is not None and FAREWELL in read:
            return
        # Another process may keep the pipe open, such as a forked child.
        if read == b"" or os.getppid() != orders.pid:
            (rescue or _rescue(orders)).report_death()
            return
        if read is not None and PULSE in read:
            heard_at, traceback = time.monotonic(), b""
            if rescue is not None:
                rescue.report_recovery()
                rescue = None
            continue
        if read is not None:
            traceback += read
            continue
        hung_for_s = time.monotonic() - heard_at
        if hung_for_s < orders.silence_s:
            continue
        rescue = rescue or _rescue(orders)
        if hung_for_s >= orders.hung_s:
            rescue.end_worker(hung_for_s)
            return
        rescue.hold(hung_for_s, traceback.decode(errors="replace"))


def _rescue(orders: Orders) -> "Rescue":
    # Heavy imports, which a healthy worker never needs.
    from workers.rescue import Rescue

    return Rescue(orders)


if __name__ == "__main__":
    main()
