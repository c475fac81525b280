"""Hosts on one machine: a network namespace each, on a wire that delays, loses and cuts."""

import ctypes
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Self

HOSTS: Final = ("database", "broker", "worker1", "worker2", "here")
"""`here` is this process's own namespace: the command line, and the servers of models."""

_TUNSETIFF, _TAP, _NO_INFORMATION = 0x400454CA, 0x0002, 0x1000
_NEW_NETWORK = 0x40000000
_TUN = Path("/dev/net/tun")


def why_unusable() -> str | None:
    """Why no hosts can be made; None where they can."""
    if os.geteuid() != 0 or shutil.which("ip") is None or not _TUN.exists():
        return "hosts need root, `ip` and /dev/net/tun"
    return None


def address(host: str) -> str:
    return f"10.77.{os.getpid() % 250}.{_number(host)}"


def _number(host: str) -> int:
    return HOSTS.index(host) + 1


class Network:
    """The hosts and their wire, until the block ends."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._cut: list[tuple[str, str]] = []
        self._quality: dict[str, float] = {}

    def __enter__(self) -> Self:
        taps = [self._open.enter_context(self._host(host)) for host in HOSTS]
        command = [sys.executable, str(Path(__file__).with_name("wire.py")), *map(str, taps)]
        self._wire = subprocess.Popen(
            command, pass_fds=taps, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        # It ends with its orders.
        self._open.enter_context(self._wire)
        self._order()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def namespace(self, host: str) -> str:
        """Its name for `ip netns exec`."""
        return f"ragq{os.getpid()}{host}"

    @contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """Processes that this thread starts meanwhile belong to a host."""
        with Path("/proc/thread-self/ns/net").open() as ours, Path("/run/netns", self.namespace(host)).open() as theirs:
            _enter(theirs.fileno())
            try:
                yield
            finally:
                _enter(ours.fileno())

    def degrade(self, *, delay_s: float, loss: float) -> None:
        """Every frame is late by so much, and this share of them is lost."""
        self._quality = {"delay_s": delay_s, "loss": loss}
        self._order()

    @contextmanager
    def partition(self, *pairs: tuple[str, str]) -> Iterator[None]:
        """Nothing passes between the two of each pair."""
        self._cut += pairs
        self._order()
        try:
            yield
        finally:
            self._cut = [pair for pair in self._cut if pair not in pairs]
            self._order()

    def _order(self) -> None:
        cut = [[_number(one), _number(other)] for one, other in self._cut]
        assert self._wire.stdin is not None and self._wire.stdout is not None
        self._wire.stdin.write(json.dumps({**self._quality, "cut": cut}) + "\n")
        assert self._wire.stdout.readline() == "obeyed\n"

    @contextmanager
    def _host(self, host: str) -> Iterator[int]:
        number, device = _number(host), f"rq{os.getpid() % 100000}-{_number(host)}"
        tap = os.open(_TUN, os.O_RDWR)
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH", device.encode(), _TAP | _NO_INFORMATION))
        _ip("link", "set", device, "address", f"02:00:00:00:00:{number:02x}")
        inside: tuple[str, ...] = ()
        if host != "here":
            _ip("netns", "add", self.namespace(host))
            _ip("link", "set", device, "netns", self.namespace(host))
            inside = ("-netns", self.namespace(host))
            _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "address", "add", f"{address(host)}/24", "dev", device)
        _ip(*inside, "link", "set", device, "up")
        try:
            yield tap
        finally:
            os.close(tap)
            if host != "here":
                _ip("netns", "delete", self.namespace(host))


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _enter(descriptor: int) -> None:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "setns")
