"""The servers that come as wheels."""

import os
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest
import redis

from schemas.errors import StackError
from stack import ports
from stack.ports import LOOPBACK
from stack.probes import execute
from tests import run_folder
from tests.embedded import PostgresServer, ValkeyServer

pytestmark = pytest.mark.servers

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands Postgres to another user")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """One server for the module: every test leaves it running."""
    with PostgresServer(run_folder.new_folder()) as server:
        yield server


async def test_a_killed_postgres_starts_again_with_its_data_on_the_same_port(postgres: PostgresServer) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres.url.replace(postgres.password, "guess"))
    url = postgres.url
    execute(url, "CREATE TABLE kept (id int)", "INSERT INTO kept VALUES (7)")
    postgres.kill()
    assert not postgres.answers()
    postgres.start()
    assert postgres.url == url
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT id FROM kept") == 7
    await connection.close()


def test_a_failing_statement_leaves_no_row_in_the_log(postgres: PostgresServer) -> None:
    insert = "INSERT INTO secrets VALUES ('something private')"
    with pytest.raises(asyncpg.UniqueViolationError):
        execute(postgres.url, "CREATE TABLE secrets (words text UNIQUE)", insert, insert)
    log = (postgres.data_dir / "log").read_text()
    assert "unique constraint" in log
    assert "something private" not in log


def test_a_cluster_that_is_served_is_refused(postgres: PostgresServer) -> None:
    with pytest.raises(StackError, match=f"already serves .* as pid {postgres.pid}"):
        PostgresServer(postgres.data_dir).start()


@as_root
def test_root_serves_an_unreachable_cluster_in_a_user_namespace(tmp_path: Path) -> None:
    if not ports.has_user_namespaces():
        pytest.skip("user namespaces are forbidden here")
    tmp_path.chmod(0o700)
    with PostgresServer(tmp_path / "postgres") as server:
        assert server.account == ports.Account(prefix=ports.USER_NAMESPACE)
        assert server.answers()


@as_root
def test_root_without_access_gets_a_usable_folder_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(ports, "USER_NAMESPACE", ("no-such-program",))
    with pytest.raises(StackError, match=r"user 'nobody' cannot reach .* Set RAGQ_HOME"):
        PostgresServer(tmp_path / "postgres").prepare()


def test_valkey_listens_on_loopback_with_a_password_and_starts_again_on_its_port_with_its_data(tmp_path: Path) -> None:
    with ValkeyServer(tmp_path / "valkey") as valkey:
        listening = {c.laddr for c in psutil.Process(valkey.pid).net_connections() if c.status == psutil.CONN_LISTEN}
        assert listening == {(LOOPBACK, valkey.port)}
        with redis.Redis(port=valkey.port) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
        url = valkey.url
        with redis.Redis.from_url(url) as client:
            client.set("kept", 1)
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            valkey.kill()
            assert not valkey.answers()
            valkey.start()
            assert (valkey.url, valkey.answers(), client.get("kept")) == (url, True, b"1")
