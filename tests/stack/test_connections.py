"""Which servers are used, how, and at which ports."""

import os
import socket
import ssl
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from schemas.errors import StackError
from schemas.settings.process import ProcessSettings
from stack.connections import broker_url, connections, database_url, ollama_url
from stack.home import Home, Part, State
from stack.parts import ORDER, make_plan, servers_from_outside
from stack.ports import LOOPBACK, free_port, is_loopback, kept_port
from stack.probes import healthy
from tests import run_folder
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


def test_every_spelling_of_the_postgres_scheme_is_normalised() -> None:
    schemes = ("postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg")
    found = {database_url(f"{scheme}://me:p%40ss@db:5432/ragq?ssl=require") for scheme in schemes}
    assert found == {"postgresql://me:p%40ss@db:5432/ragq?sslmode=require"}


def test_ollama_hosts_are_read_as_ollama_reads_them() -> None:
    urls = {
        ("127.0.0.1", None): "http://127.0.0.1:11434",
        ("gpu", "8080"): "http://gpu:8080",
        ("gpu:9000", "8080"): "http://gpu:9000",
        ("http://gpu:9000/", None): "http://gpu:9000",
        ("https://gpu", "443"): "https://gpu:443",
        ("[::1]:9000", None): "http://[::1]:9000",
    }
    assert {given: ollama_url(*given) for given in urls} == urls


def test_an_impossible_port_another_database_and_another_broker_are_refused() -> None:
    for host, port in (("gpu", "many"), ("gpu:99999", None)):
        with pytest.raises(StackError, match="the port is not a number from 1 to 65535"):
            ollama_url(host, port)
    for url, scheme in (("sqlite:///jobs.db", "sqlite"), ("localhost", "no scheme")):
        with pytest.raises(StackError, match=f"DATABASE_URL names {scheme}, and ragq keeps its work in Postgres"):
            database_url(url)
    for url, scheme in (("sqs://key@region", "sqs"), ("memory://", "memory"), ("broker:6379", "no scheme")):
        with pytest.raises(StackError, match=f"REDIS_URL names {scheme}, and the broker is Redis, Valkey or RabbitMQ"):
            broker_url(url)


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


OUTSIDE = {
    "DATABASE_URL": "postgresql://me:pw@db:5432/ragq",
    "REDIS_URL": "redis://:pw@broker:6379/0",
    "OLLAMA_HOST": "http://gpu:11434",
}


DATABASE = {"DATABASE_URL": OUTSIDE["DATABASE_URL"]}
VALKEY = Part(name="valkey", command=["valkey"], port=6379)
RUNNING = State(started=0.0, servers=OUTSIDE, flower_url=None, parts={"valkey": VALKEY})


def test_a_rabbitmq_that_does_not_answer_is_not_healthy() -> None:
    state = State(started=0.0, servers={"REDIS_URL": "amqp://me:pw@127.0.0.1:1/ragq"}, parts={})
    assert healthy({"valkey"}, state, lambda broker_url, names: set()) == set()


def test_parts_get_the_urls_of_their_servers_and_the_api_listens_on_loopback_and_gets_no_model(tmp_path: Path) -> None:
    plan = make_plan(Home(tmp_path), DATABASE, wanted=["valkey", "llm", "worker-llm", "api"], running=())
    broker, api = {"REDIS_URL": plan.servers["REDIS_URL"]}, plan.parts["api"]
    assert [*plan.parts] == ["valkey", "llm", "worker-llm", "api"]
    model = {"OLLAMA_HOST": plan.servers["OLLAMA_HOST"], "MALLOC_ARENA_MAX": "2"}
    assert plan.parts["worker-llm"].environment == broker | model
    assert api.environment == broker | {"RAGQ_API_HOST": "127.0.0.1", "RAGQ_API_PORT": str(api.port)}
    assert plan.api_url == f"http://127.0.0.1:{api.port}"


def test_the_password_of_flower_is_in_its_environment_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    flower = make_plan(home, OUTSIDE, wanted=["flower"], running=()).parts["flower"]
    assert flower.environment == {"FLOWER_BASIC_AUTH": f"ragq:{home.flower_password.read_text()}"}
    assert home.flower_password.read_text() not in " ".join(flower.command)


def test_ports_and_passwords_are_kept_from_plan_to_plan(tmp_path: Path) -> None:
    first = make_plan(Home(tmp_path), DATABASE, wanted=ORDER, running=())
    assert make_plan(Home(tmp_path), DATABASE, wanted=ORDER, running=()) == first
    assert make_plan(Home(tmp_path), DATABASE, wanted=["valkey", "llm"], running=ORDER) == first


def test_no_two_parts_have_one_port() -> None:
    folder = run_folder.new_folder()
    settings = ProcessSettings(ragq_api_port=free_port())
    for name in ("postgres/port", "valkey/port", "llm.port"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(str(settings.ragq_api_port))

    plan = make_plan(Home(folder), {}, wanted=["postgres", "valkey", "llm", "api"], running=(), settings=settings)

    assert len({part.port for part in plan.parts.values()}) == 4


def test_a_running_stack_keeps_the_servers_it_was_started_with_and_another_is_refused_without_passwords() -> None:
    assert servers_from_outside({}, RUNNING) == DATABASE | {"OLLAMA_HOST": OUTSIDE["OLLAMA_HOST"]}
    with pytest.raises(StackError) as refused:
        servers_from_outside({"REDIS_URL": "redis://:secret@other/0"}, RUNNING)
    assert str(refused.value) == (
        "REDIS_URL is redis://:***@other/0, and the running stack uses redis://:***@broker:6379/0. "
        "Run `ragq down` first, or unset REDIS_URL."
    )


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
