import re
from pathlib import Path

from schemas.chains import CHAINS, QUEUES
from stack.processes import (
    WORKER_CONCURRENCY,
    WORKER_QUEUES,
    flower_command,
    llm_command,
)

OPERATIONS = Path(__file__).parents[2] / "docs/operations.md"


def test_a_worker_takes_the_stages_of_its_group_and_no_other() -> None:
    of_model = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "model"}
    of_llm = {stage.name for chain in CHAINS.values() for stage in chain if stage.group == "llm"}
    assert {name: set(queues) for name, queues in WORKER_QUEUES.items()} == {
        "model": of_model | {f"{stage}.local" for stage in of_llm},
        "llm": of_llm,
    }
    assert sorted(queue for queues in WORKER_QUEUES.values() for queue in queues) == sorted(QUEUES)


def test_the_docs_start_the_workers_that_the_stack_starts() -> None:
    started = re.findall(r"^ragq worker --stages (\S+) --concurrency (\d+)$", OPERATIONS.read_text(), re.MULTILINE)
    assert started == [(name, str(concurrency)) for name, concurrency in WORKER_CONCURRENCY.items()]


def test_what_has_no_password_of_its_own_listens_on_loopback() -> None:
    assert "--address=127.0.0.1" in flower_command(5555)
    assert llm_command(9000)[-4:] == ["--host", "127.0.0.1", "--port", "9000"]
