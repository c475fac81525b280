"""`ragq doctor` on servers that are there, that are away, and that mislead."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import cli
from schemas.settings.process import KNOWN_NAMES, ServerAddress
from services.doctor import Finding, Findings, Verdict, _models, examine
from stack.ports import LOOPBACK
from tests.scripted_openai import ScriptedOpenAI
from tests.store.statements import EMPTIED, execute

Doctor = Callable[..., Result]
Checked = dict[str, list[tuple[str, str, str]]]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """Runs `ragq doctor` in an empty home, with servers by environment."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> Result:
        known = dict.fromkeys(KNOWN_NAMES) | {"RAGQ_HOME": str(tmp_path / "home")} | environment
        return CliRunner(env=known).invoke(cli, ["doctor", *arguments])

    return run


def checked(result: Result) -> Checked:
    found: Checked = {}
    for one in json.loads(result.stdout):
        found.setdefault(one["name"], []).append((one["verdict"], one["found"], one["remedy"]))
    return found


def only(found: Checked, name: str) -> tuple[str, str, str]:
    (one,) = found[name]
    return one


@contextmanager
def hostile(reply: bytes) -> Iterator[int]:
    """A port where something accepts connections, sends these bytes, and nothing more."""
    with socket.create_server((LOOPBACK, 0)) as server:
        kept = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                    kept.append(connection)
                    connection.sendall(reply)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for connection in kept:
            connection.close()


def test_without_a_stage_that_asks_a_model_no_server_is_missed(doctor: Doctor) -> None:
    found = checked(doctor("--json", RAGQ_PROFILE="local"))
    assert only(found, "language model")[0] == "ok"
    assert "model" not in found


async def test_the_list_of_an_openai_server_is_read_with_its_key() -> None:
    async with ScriptedOpenAI([{"id": "gpt"}]) as server:
        address = ServerAddress(server.url, "key")
        found = await asyncio.to_thread(
            lambda: list(_models("openai", address, {name: ("A", ["answers"]) for name in ("gpt", "absent")}))
        )

    assert [(one.name, one.verdict) for one in found] == [
        ("language model", Verdict.OK),
        ("model", Verdict.OK),
        ("model", Verdict.WARN),
    ]


def test_tables_of_another_version_are_named_with_migrate(doctor: Doctor, database_url: str) -> None:
    for change in ("UPDATE alembic_version SET version_num = '0041'", EMPTIED):
        asyncio.run(execute(database_url, change))

        found = checked(doctor("--json", DATABASE_URL=database_url))

        assert "`ragq db migrate`" in [one for name in ("pgvector", "tables") for one in found.get(name, [])][-1][2]
        assert "workers" not in found


def test_hostile_servers_are_findings_within_a_time_limit(doctor: Doctor) -> None:
    for reply in [b"", b"\x00" * 4096, b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 2_000_000]:
        began = time.monotonic()
        with hostile(reply) as port:
            result = doctor(
                "--json",
                DATABASE_URL=f"postgresql://me:secret@127.0.0.1:{port}/x",
                REDIS_URL=f"redis://:secret@127.0.0.1:{port}/0",
                OLLAMA_HOST=f"127.0.0.1:{port}",
                RAGQ_API_PORT=str(port),
            )
        found = checked(result)

        assert time.monotonic() - began < 60
        assert [only(found, name)[0] for name in ("postgres", "broker", "language model")] == ["fail"] * 3
        assert "secret" not in result.output


def test_an_address_that_is_none_is_a_finding(doctor: Doctor) -> None:
    for url in ["mysql://me:secret@h/x", "postgresql://me:sec/ret@h:9/x", "postgresql://[::1", "nothing"]:
        result = doctor("--json", DATABASE_URL=url, REDIS_URL=url)

        assert [line[0] for name in ("postgres", "broker") for line in checked(result)[name]] == ["fail"] * 2
        assert "sec" not in result.output


def test_a_check_that_does_not_end_or_that_breaks_leaves_the_others() -> None:
    def endless(environment: object) -> Findings:
        threading.Event().wait()
        yield Finding("never", Verdict.OK, "")

    def broken(environment: object) -> Findings:
        yield Finding("broken", Verdict.OK, "half")
        raise ZeroDivisionError("secret")

    def fine(environment: object) -> Findings:
        yield Finding("fine", Verdict.OK, "all of it")

    found = examine({}, checks={"endless": endless, "broken": broken, "fine": fine}, limit_s=1)

    assert [(one.name, one.verdict, one.found) for one in found] == [
        ("endless", Verdict.FAIL, "no answer within 1 s"),
        ("broken", Verdict.OK, "half"),
        ("broken", Verdict.FAIL, "cannot be checked: ZeroDivisionError"),
        ("fine", Verdict.OK, "all of it"),
    ]
