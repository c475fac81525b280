import re
import sys
from pathlib import Path

import pytest

from schemas.chains import CHAINS, QUEUES, STAGES
from stack.processes import (
    WORKER_CONCURRENCY,
    WORKER_QUEUES,
    api_command,
    default_processes,
    flower_command,
    llm_command,
    worker_command,
)

OPERATIONS = Path(__file__).parents[2] / "docs/operations.md"


def test_a_worker_takes_the_stages_of_its_group_and_no_other() -> None:
    of_model = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "model"}
    of_llm = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "llm"}
    assert {name: set(queues) for name, queues in WORKER_QUEUES.items()} == {
        "model": of_model | {f"{stage}.local" for stage in of_llm},
        "llm": of_llm,
    }


def test_the_docs_start_the_workers_that_the_stack_starts() -> None:
    started = re.findall(r"^ragq worker --stages (\S+) --concurrency (\d+)$", OPERATIONS.read_text(), re.MULTILINE)
    assert started == [(name, str(concurrency)) for name, concurrency in WORKER_CONCURRENCY.items()]


def test_every_queue_has_exactly_one_worker() -> None:
    assert sorted(queue for queues in WORKER_QUEUES.values() for queue in queues) == sorted(QUEUES)
    assert WORKER_CONCURRENCY.keys() == WORKER_QUEUES.keys()


def test_a_worker_takes_the_queues_of_its_stages() -> None:
    assert worker_command("gpu", ["embed", "rerank"], 8) == [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "workers.main",
        "worker",
        "--concurrency=8",
        "--queues=embed,rerank",
        "--hostname=gpu@%h",
        "--task-events",
        "--without-gossip",
        "--without-mingle",
        "--loglevel=WARNING",
    ]


def test_flower_listens_on_loopback_and_keeps_what_it_saw_on_request() -> None:
    assert flower_command(5555)[6:] == [
        "--address=127.0.0.1",
        "--port=5555",
        "--tasks-columns=name,uuid,kwargs,state,received,runtime,worker",
        "--max-tasks=5000",
        "--task-runtime-metric-buckets=0.01,0.1,0.5,1,5,10,30,60,120,300,600,1800",
    ]
    assert not any("persistent" in argument for argument in flower_command(5555))


def test_the_api_gets_its_address_by_environment() -> None:
    assert api_command() == [sys.executable, "-m", "api.server"]


def test_the_language_model_listens_on_loopback() -> None:
    assert llm_command(9000)[1:] == ["-m", "stack.llm_server", "--host", "127.0.0.1", "--port", "9000"]


def test_stages_that_hold_models_have_one_process_and_others_one_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stack.processes.cores", lambda: 6)
    assert default_processes(WORKER_QUEUES["llm"], 20) == 6
    assert default_processes(WORKER_QUEUES["llm"], 4) == 4
    assert default_processes(WORKER_QUEUES["model"], 16) == 1
    assert default_processes(STAGES, 16) == 1
