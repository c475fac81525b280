"""Ports on this machine: which are free, and who holds those that are not."""

import socket
from pathlib import Path

import psutil

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
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


def kept_port(path: Path) -> int:
    """The port kept in a file. A new one is chosen the first time, and when somebody listens on the kept one."""
    if not path.exists() or not is_free(int(path.read_text())):
        path.write_text(str(free_port()))
    return int(path.read_text())


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
