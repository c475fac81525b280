import os
import socket
import sys
from pathlib import Path

import psutil
import pytest

from stack.ports import LOOPBACK, free_port, holder, is_free, kept_port


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server((LOOPBACK, free_port())):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_no_outgoing_connection_gets_a_free_port() -> None:
    first, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())

    assert max(free_port() for _ in range(50)) < first


def test_a_port_in_use_is_not_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)


def test_the_holder_of_a_port_is_named_with_its_pid() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        assert holder(server.getsockname()[1]) == f"{psutil.Process().name()}, pid {os.getpid()}"


def test_a_free_port_has_no_holder() -> None:
    assert holder(free_port()) == "a process that cannot be named from here"


def test_a_stored_port_is_kept_until_another_process_holds_it(tmp_path: Path) -> None:
    first = kept_port(tmp_path / "port")
    assert kept_port(tmp_path / "port") == first
    with socket.create_server((LOOPBACK, first)):
        assert kept_port(tmp_path / "port") != first
