from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from stack.ports import LOOPBACK
from tests.embedded import ValkeyServer

pytestmark = pytest.mark.servers


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    with ValkeyServer(tmp_path / "valkey") as server:
        yield server


def test_it_listens_on_loopback_alone(valkey: ValkeyServer) -> None:
    listening = {c.laddr for c in psutil.Process(valkey.pid).net_connections() if c.status == psutil.CONN_LISTEN}
    assert listening == {(LOOPBACK, valkey.port)}


def test_a_client_without_the_password_is_refused(valkey: ValkeyServer) -> None:
    with redis.Redis(port=valkey.port) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_a_killed_server_starts_again_on_the_same_port(valkey: ValkeyServer) -> None:
    url = valkey.url
    valkey.kill()
    assert not valkey.answers()
    valkey.start()
    assert valkey.url == url
    assert valkey.answers()


def test_durable_data_is_kept_over_a_restart(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path)
    with server, redis.Redis.from_url(server.url) as client:
        client.set("kept", 1)
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    with server, redis.Redis.from_url(server.url) as client:
        assert client.get("kept") == b"1"
