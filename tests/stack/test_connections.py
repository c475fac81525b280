"""Which servers are used, and how."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import StackError
from stack.connections import connections, database_url, ollama_url
from stack.home import Home, State
from workers.app import make_app

SERVERS = {
    "DATABASE_URL": "postgresql://ragq:pw@127.0.0.1:5001/ragq",
    "REDIS_URL": "redis://:pw@127.0.0.1:5002/0",
    "OLLAMA_HOST": "http://127.0.0.1:5003",
}


@pytest.fixture
def running(tmp_path: Path) -> dict[str, str]:
    """The environment of a home whose state names servers and whose supervisor runs."""
    home = Home(tmp_path)
    home.write_state(State(started=0.0, servers=SERVERS, flower_url=None, parts={}))
    home.supervisor_pid.write_text(f"{os.getpid()}\n")
    return {"RAGQ_HOME": str(tmp_path)}


def test_each_variable_wins_over_the_stack(running: dict[str, str]) -> None:
    found = connections(running | {"DATABASE_URL": "postgres://db/mine", "OLLAMA_HOST": "gpu", "OLLAMA_PORT": "80"})
    assert (found.database_url, found.redis_url) == ("postgresql://db/mine", "redis://:pw@127.0.0.1:5002/0")
    assert found.ollama_url == "http://gpu:80"


def test_the_repr_hides_passwords_and_the_state_of_a_stack_without_a_supervisor_is_not_used(
    running: dict[str, str], tmp_path: Path
) -> None:
    assert repr(connections(running)) == (
        "Connections(DATABASE_URL='postgresql://ragq:***@127.0.0.1:5001/ragq', "
        "REDIS_URL='redis://:***@127.0.0.1:5002/0', OLLAMA_HOST='http://127.0.0.1:5003')"
    )
    Home(tmp_path).supervisor_pid.unlink()
    with pytest.raises(StackError, match="no stack runs in"):
        assert connections(running).database_url


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"])
def test_every_spelling_of_the_postgres_scheme_is_normalised(scheme: str) -> None:
    assert database_url(f"{scheme}://me:p%40ss@db:5432/ragq?ssl=require") == (
        "postgresql://me:p%40ss@db:5432/ragq?sslmode=require"
    )


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:11434"),
        ("gpu", "8080", "http://gpu:8080"),
        ("gpu:9000", "8080", "http://gpu:9000"),
        ("http://gpu:9000/", None, "http://gpu:9000"),
        ("https://gpu", "443", "https://gpu:443"),
        ("[::1]:9000", None, "http://[::1]:9000"),
    ],
)
def test_ollama_hosts_are_read_as_ollama_reads_them(host: str, port: str | None, url: str) -> None:
    assert ollama_url(host, port) == url


@pytest.mark.parametrize(
    ("read", "refusal"),
    [
        (lambda: ollama_url("gpu", "many"), "the port is not a number from 1 to 65535"),
        (lambda: ollama_url("gpu:99999", None), "the port is not a number from 1 to 65535"),
        (lambda: database_url("sqlite:///jobs.db"), "DATABASE_URL names sqlite, and ragq keeps its work in Postgres"),
        (lambda: database_url("localhost"), "DATABASE_URL names no scheme, and ragq keeps its work in Postgres"),
    ],
)
def test_an_impossible_port_and_another_database_are_refused(read: Callable[[], str], refusal: str) -> None:
    with pytest.raises(StackError, match=refusal):
        read()


def test_tls_checks_the_certificate_and_the_name_of_a_broker_by_the_authorities_of_its_url() -> None:
    def asked_for(url: str) -> Any:
        with make_app(url).connection_for_read() as connection:
            return connection.ssl

    redis = "rediss://:pw@broker.example:6379/0"
    assert asked_for(redis) == {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}
    # redis-py asks for a certificate of the host unless it is told otherwise.
    assert asked_for(f"{redis}?ssl_ca_certs=/ca.pem") == {"ssl_ca_certs": "/ca.pem"}
    amqp = "amqps://me:pw@broker.example:5671/ragq?ssl_ca_certs=/ca.pem&ssl_certfile=/me.pem&ssl_keyfile=/me.key"
    assert asked_for(amqp) == {
        "cert_reqs": ssl.CERT_REQUIRED,
        "server_hostname": "broker.example",
        "ca_certs": "/ca.pem",
        "certfile": "/me.pem",
        "keyfile": "/me.key",
    }
    assert make_app(amqp).connection_for_read().virtual_host == "ragq"
    assert make_app("amqp://me:pw@broker.example/ragq").conf.broker_use_ssl is None
