"""Ports, and addresses that others can reach."""

import socket
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from stack.ports import LOOPBACK, free_port, is_loopback, kept_port


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_no_outgoing_connection_gets_a_free_port() -> None:
    first, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())

    assert max(free_port() for _ in range(50)) < first


def test_a_stored_port_is_kept_until_another_process_holds_it(tmp_path: Path) -> None:
    first = kept_port(tmp_path / "port")
    assert kept_port(tmp_path / "port") == first
    with socket.create_server((LOOPBACK, first)):
        assert kept_port(tmp_path / "port") != first


def resolved_to(*addresses: str) -> Any:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]


def test_a_name_is_loopback_when_it_resolves_to_loopback_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        *(resolved_to("127.0.0.1"), resolved_to("127.0.0.1", "::1")),
        *(resolved_to("127.0.0.1", "10.0.0.5"), [], socket.gaierror("no such name")),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=found))

    assert [is_loopback("box") for _ in found] == [True, True, False, False, False]


def test_addresses_that_others_can_reach_are_not_loopback() -> None:
    assert [is_loopback(host) for host in ("0", "fe80::1", "::ffff:10.0.0.1")] == [False] * 3
