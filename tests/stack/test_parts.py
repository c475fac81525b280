from pathlib import Path

import pytest

from schemas.errors import StackError
from stack.home import Home, Part, State
from stack.parts import ORDER, make_plan, servers_from_outside
from stack.ports import free_port
from tests import run_folder

OUTSIDE = {
    "DATABASE_URL": "postgresql://me:pw@db:5432/ragq",
    "REDIS_URL": "redis://:pw@broker:6379/0",
    "OLLAMA_HOST": "http://gpu:11434",
}


DATABASE = {"DATABASE_URL": OUTSIDE["DATABASE_URL"]}
VALKEY = Part(name="valkey", command=["valkey"], port=6379)
RUNNING = State(started=0.0, servers=OUTSIDE, flower_url=None, parts={"valkey": VALKEY})


def test_parts_get_the_urls_of_their_servers_and_the_api_listens_on_loopback_and_gets_no_model(tmp_path: Path) -> None:
    plan = make_plan(Home(tmp_path), DATABASE, wanted=["valkey", "llm", "worker-llm", "api"], running=())
    host, port = plan.servers["OLLAMA_HOST"].removeprefix("http://").split(":")
    broker, api = {"REDIS_URL": plan.servers["REDIS_URL"]}, plan.parts["api"]
    assert [*plan.parts] == ["valkey", "llm", "worker-llm", "api"]
    model = {"OLLAMA_HOST": host, "OLLAMA_PORT": port, "MALLOC_ARENA_MAX": "2"}
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
    ports = {"api": free_port()}
    for name in ("postgres/port", "valkey/port", "llm.port"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(str(ports["api"]))

    plan = make_plan(Home(folder), {}, wanted=["postgres", "valkey", "llm", "api"], running=(), ports=ports)

    assert len({part.port for part in plan.parts.values()}) == 4


def test_a_running_stack_keeps_the_servers_it_was_started_with_and_another_is_refused_without_passwords() -> None:
    assert servers_from_outside({}, RUNNING) == DATABASE | {"OLLAMA_HOST": OUTSIDE["OLLAMA_HOST"]}
    with pytest.raises(StackError) as refused:
        servers_from_outside({"REDIS_URL": "redis://:secret@other/0"}, RUNNING)
    assert str(refused.value) == (
        "REDIS_URL is redis://:***@other/0, and the running stack uses redis://:***@broker:6379/0. "
        "Run `ragq down` first, or unset REDIS_URL."
    )
