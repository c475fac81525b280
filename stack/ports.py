"""Ports on this machine: which are free, and who holds those that are not."""

import secrets
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Final

import psutil

LOOPBACK = "127.0.0.1"

#: Below those that Linux, macOS and Windows give to outgoing connections, one of which could take the port of a server
#: before the server listens.
_FOR_SERVERS: Final = range(20_000, 32_768)


def free_port() -> int:
    """A port that nobody listens on at this moment, and that no outgoing connection gets."""
    while not is_free(port := secrets.choice(_FOR_SERVERS)):
        pass
    return port


def is_free(port: int) -> bool:
    """A server could listen on the port. Connections that a former server left in TIME_WAIT do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def kept_port(path: Path, *, taken: Collection[int] = ()) -> int:
    """The port kept in a file. A new one is chosen the first time, and when it is taken or somebody listens there."""
    port = int(path.read_text()) if path.exists() else None
    while port is None or port in taken or not is_free(port):
        port = free_port()
    path.write_text(str(port))
    return port


def holder(port: int) -> str:
    """The process that listens on a port, for an error message: `nginx, pid 812`; of another user, no name."""
    try:
        listening = [
            connection.pid
            for connection in psutil.net_connections(kind="tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
        ]
        pid = next(pid for pid in listening if pid)
        return f"{psutil.Process(pid).name()}, pid {pid}"
    except (psutil.Error, StopIteration):
        return "a process that cannot be named from here"
