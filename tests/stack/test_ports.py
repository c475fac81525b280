import socket
import sys
from pathlib import Path

import pytest

from stack.ports import LOOPBACK, free_port, kept_port


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_no_outgoing_connection_gets_a_free_port() -> None:
    first, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())

    assert max(free_port() for _ in range(50)) < first


def test_a_stored_port_is_kept_until_another_process_holds_it(tmp_path: Path) -> None:
    first = kept_port(tmp_path / "port")
    assert kept_port(tmp_path / "port") == first
    with socket.create_server((LOOPBACK, first)):
        assert kept_port(tmp_path / "port") != first
