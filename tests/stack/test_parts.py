import os
import re
import socket
from pathlib import Path

import pytest

from schemas.errors import StackError
from stack.home import Home, RecordedPart, State
from stack.parts import ORDER, in_order, make_plan, processes_of, servers_from_outside
from stack.ports import LOOPBACK, free_port

OUTSIDE = {
    "DATABASE_URL": "postgresql://me:pw@db:5432/ragq",
    "REDIS_URL": "redis://:pw@broker:6379/0",
    "OLLAMA_HOST": "http://gpu:11434",
}


def running(**parts: int) -> State:
    recorded = {name: RecordedPart(command=[name], port=port) for name, port in parts.items()}
    return State(started=0.0, servers=OUTSIDE, flower_url=None, parts=recorded)


def test_external_servers_are_no_parts(tmp_path: Path) -> None:
    plan = make_plan(Home(tmp_path), OUTSIDE, wanted=ORDER, running=())
    assert [part.name for part in plan.parts] == ["worker-model", "worker-llm", "api", "flower"]
    assert plan.servers == OUTSIDE


def test_external_servers_are_inherited_and_not_stored(tmp_path: Path) -> None:
    plan = make_plan(Home(tmp_path), OUTSIDE, wanted=["worker-llm"], running=())
    assert [part.environment for part in plan.parts] == [{"MALLOC_ARENA_MAX": "2"}]


def test_parts_get_the_urls_of_their_servers(tmp_path: Path) -> None:
    outside = {name: url for name, url in OUTSIDE.items() if name == "DATABASE_URL"}
    plan = make_plan(Home(tmp_path), outside, wanted=["valkey", "llm", "worker-llm"], running=())
    host, port = plan.servers["OLLAMA_HOST"].removeprefix("http://").split(":")
    assert [part.name for part in plan.parts] == ["valkey", "llm", "worker-llm"]
    assert plan.parts[-1].environment == {
        "REDIS_URL": plan.servers["REDIS_URL"],
        "OLLAMA_HOST": host,
        "OLLAMA_PORT": port,
        "MALLOC_ARENA_MAX": "2",
    }


def test_the_environment_chooses_other_arenas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "8")
    plan = make_plan(Home(tmp_path), OUTSIDE, wanted=["worker-llm"], running=())
    assert plan.parts[0].environment["MALLOC_ARENA_MAX"] == "8"


def test_the_api_listens_on_loopback_and_gets_no_model(tmp_path: Path) -> None:
    outside = {name: url for name, url in OUTSIDE.items() if name == "DATABASE_URL"}
    plan = make_plan(Home(tmp_path), outside, wanted=["valkey", "llm", "api"], running=())
    api = plan.parts[-1]
    assert api.environment == {
        "REDIS_URL": plan.servers["REDIS_URL"],
        "RAGQ_API_HOST": "127.0.0.1",
        "RAGQ_API_PORT": str(api.port),
    }
    assert plan.api_url == f"http://127.0.0.1:{api.port}"


def test_the_password_of_flower_is_in_its_environment_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    [flower] = make_plan(home, OUTSIDE, wanted=["flower"], running=()).parts
    assert flower.environment == {"FLOWER_BASIC_AUTH": f"ragq:{home.flower_password.read_text()}"}
    assert home.flower_password.read_text() not in " ".join(flower.command)


def test_ports_and_passwords_are_kept_from_plan_to_plan(tmp_path: Path) -> None:
    outside = {name: url for name, url in OUTSIDE.items() if name == "DATABASE_URL"}
    first = make_plan(Home(tmp_path), outside, wanted=ORDER, running=())
    assert make_plan(Home(tmp_path), outside, wanted=ORDER, running=()) == first
    assert make_plan(Home(tmp_path), outside, wanted=["valkey", "llm"], running=ORDER) == first


def test_no_two_parts_have_one_port(tmp_path: Path) -> None:
    home = Home(tmp_path)
    ports = {"api": free_port()}
    for name in ("postgres", "valkey"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "port").write_text(str(ports["api"]))
    (tmp_path / "llm.port").write_text(str(ports["api"]))

    plan = make_plan(home, {}, wanted=["postgres", "valkey", "llm", "api"], running=(), ports=ports)

    assert len({part.port for part in plan.parts}) == 4


def test_a_chosen_port_is_used_and_kept(tmp_path: Path) -> None:
    home, chosen = Home(tmp_path), {"api": free_port(), "flower": free_port()}
    plan = make_plan(home, OUTSIDE, wanted=["api", "flower"], running=(), ports=chosen)
    assert {part.name: part.port for part in plan.parts} == chosen
    assert plan.api_url == f"http://127.0.0.1:{chosen['api']}"
    assert plan.parts[0].environment["RAGQ_API_PORT"] == str(chosen["api"])
    assert make_plan(home, OUTSIDE, wanted=["api", "flower"], running=["api", "flower"], ports=chosen) == plan


@pytest.mark.parametrize(("part", "setting"), [("api", "RAGQ_API_PORT"), ("flower", "RAGQ_FLOWER_PORT")])
def test_a_chosen_port_that_is_taken_is_named_with_its_holder(tmp_path: Path, part: str, setting: str) -> None:
    with socket.create_server((LOOPBACK, 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(StackError) as refused:
            make_plan(Home(tmp_path), OUTSIDE, wanted=[part], running=(), ports={part: port})
    assert f"The {part} cannot listen on port {port} ({setting}): " in str(refused.value)
    assert f"pid {os.getpid()} holds it" in str(refused.value)
    (other,) = re.findall(r"such as (\d+)", str(refused.value))
    for ports in ({part: int(other)}, {}):
        assert make_plan(Home(tmp_path), OUTSIDE, wanted=[part], running=(), ports=ports).parts[0].port != port


def test_a_running_part_keeps_its_port(tmp_path: Path) -> None:
    home, port = Home(tmp_path), free_port()
    make_plan(home, OUTSIDE, wanted=["api"], running=(), ports={"api": port})
    with pytest.raises(
        StackError, match=f"RAGQ_API_PORT is 7, and the api of the running stack listens on port {port}"
    ):
        make_plan(home, OUTSIDE, wanted=["api"], running=["api"], ports={"api": 7})


def test_a_worker_has_its_time_to_stop(tmp_path: Path) -> None:
    plan = make_plan(Home(tmp_path), OUTSIDE, wanted=["worker-llm"], running=(), worker_stop_s=20.5)
    assert [part.stop_timeout_s for part in plan.parts] == [25]


def test_a_running_stack_keeps_the_servers_it_was_started_with() -> None:
    assert servers_from_outside({}, running(valkey=6379)) == {
        "DATABASE_URL": OUTSIDE["DATABASE_URL"],
        "OLLAMA_HOST": OUTSIDE["OLLAMA_HOST"],
    }


def test_naming_a_running_stacks_own_server_changes_nothing() -> None:
    given = {"REDIS_URL": OUTSIDE["REDIS_URL"]}
    assert servers_from_outside(given, running(valkey=6379)) == servers_from_outside({}, running(valkey=6379))


def test_another_server_for_a_running_stack_is_refused_without_passwords() -> None:
    with pytest.raises(StackError) as refused:
        servers_from_outside({"REDIS_URL": "redis://:secret@other/0"}, running(valkey=6379))
    assert str(refused.value) == (
        "REDIS_URL is redis://:***@other/0, and the running stack uses redis://:***@broker:6379/0. "
        "Run `ragq down` first, or unset REDIS_URL."
    )


def test_without_a_running_stack_the_environment_decides() -> None:
    assert servers_from_outside({"OLLAMA_HOST": "gpu"}, None) == {"OLLAMA_HOST": "http://gpu:11434"}


def test_the_worker_for_language_models_takes_the_chosen_number_of_stages(tmp_path: Path) -> None:
    plan = make_plan(Home(tmp_path), OUTSIDE, wanted=["worker-model", "worker-llm"], running=(), llm_concurrency=9)
    assert ["--concurrency=9" in part.command for part in plan.parts] == [False, True]


def test_the_processes_of_a_worker_are_parts_that_share_its_stages(tmp_path: Path) -> None:
    names = processes_of("worker-llm", 3)
    plan = make_plan(Home(tmp_path), OUTSIDE, wanted=["flower", *names, "worker-model"], running=(), llm_concurrency=8)
    assert [part.name for part in plan.parts] == [
        "worker-model",
        "worker-llm",
        "worker-llm-2",
        "worker-llm-3",
        "flower",
    ]
    workers = [part.command for part in plan.parts if part.name in names]
    assert ["--concurrency=3" in command for command in workers] == [True, True, True]
    assert [word for command in workers for word in command if word.startswith("--hostname=")] == [
        "--hostname=llm@%h",
        "--hostname=llm-2@%h",
        "--hostname=llm-3@%h",
    ]


def test_parts_are_in_the_order_in_which_they_start() -> None:
    names = ["worker-llm-10", "worker-llm-2", "flower", "worker-llm", "postgres", "worker-llm"]
    assert in_order(names) == ["postgres", "worker-llm", "worker-llm-2", "worker-llm-10", "flower"]
