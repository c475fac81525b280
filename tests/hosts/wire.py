"""The wire between hosts: frames of their network cards, late, lost, or cut between two of them.

Run as `python tests/hosts/wire.py FD FD ...`: the descriptors are taps, the first that of the host with number 1.
Orders come as lines of JSON: `{"delay_s": 0.05, "loss": 0.01, "cut": [[1, 3]]}`.
"""

import asyncio
import json
import os
import random
import sys
from contextlib import suppress
from functools import partial

_FRAME_BYTES = 65536


class Wire:
    """A switch. The last byte of an address is the number of its host."""

    def __init__(self, taps: list[int]) -> None:
        self._taps = dict(enumerate(taps, start=1))
        self._delay_s = 0.0
        self._loss = 0.0
        self._cut: set[frozenset[int]] = set()

    def obey(self, line: str) -> None:
        """Take an order; what it leaves out is as it was made."""
        order = json.loads(line)
        self._delay_s = order.get("delay_s", 0.0)
        self._loss = order.get("loss", 0.0)
        self._cut = {frozenset(pair) for pair in order.get("cut", ())}

    def forward(self, source: int) -> None:
        """Read the frame that a host has sent, and send it to the host it is for, or to all."""
        with suppress(BlockingIOError):
            frame = os.read(self._taps[source], _FRAME_BYTES)
            is_for = frame[5]
            for target in [is_for] if is_for in self._taps else self._taps:
                if target != source and frozenset((source, target)) not in self._cut and random.random() >= self._loss:
                    deliver = partial(self._deliver, target, frame)
                    asyncio.get_running_loop().call_later(self._delay_s, deliver)

    def _deliver(self, target: int, frame: bytes) -> None:
        # A host that is not up yet, or reads too slowly, loses it.
        with suppress(OSError):
            os.write(self._taps[target], frame)


async def main(taps: list[int]) -> None:
    wire = Wire(taps)
    loop = asyncio.get_running_loop()
    for number, tap in enumerate(taps, start=1):
        os.set_blocking(tap, False)
        loop.add_reader(tap, wire.forward, number)
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        wire.obey(line.decode())
        print("obeyed", flush=True)


if __name__ == "__main__":
    asyncio.run(main([int(argument) for argument in sys.argv[1:]]))
