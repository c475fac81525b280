"""The command lines of ragq's own processes."""

import os
import sys
from collections.abc import Collection, Sequence
from typing import get_args

from schemas.chains import Group, queues_of_group
from stack.ports import LOOPBACK

#: Which worker takes which queues: slow generation never holds up the model in the process.
WORKER_QUEUES: dict[str, tuple[str, ...]] = {group: queues_of_group(group) for group in get_args(Group)}
#: Tasks in flight per worker. The batcher gathers its batches from them. A server of language models may have 16
#: slots, and some stages are read or stored meanwhile.
WORKER_CONCURRENCY: dict[str, int] = {"model": 16, "llm": 20}


CELERY = (sys.executable, "-m", "celery", "-A", "workers.main")
FLOWER_COLUMNS = "name,uuid,kwargs,state,received,runtime,worker"
FLOWER_USER = "ragq"
#: Tasks that it keeps: about 4 KB each, and its own default is twenty times as many.
FLOWER_TASKS = 5000
#: Of its histogram of runtimes, in seconds: its own end at 10, and a stage of a language model takes minutes.
FLOWER_BUCKETS = "0.01,0.1,0.5,1,5,10,30,60,120,300,600,1800"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_processes(queues: Collection[str], concurrency: int) -> int:
    """How many processes work on queues: one a core, but one alone where stages hold models, of which each has its own.

    Never more than stages are worked on at a time.
    """
    return 1 if set(queues) & set(WORKER_QUEUES["model"]) else min(cores(), concurrency)


def worker_command(name: str, queues: Sequence[str], concurrency: int) -> list[str]:
    """A Celery worker called `name@host` on some queues. Connections come by environment."""
    return [
        *CELERY,
        "worker",
        f"--concurrency={concurrency}",
        f"--queues={','.join(queues)}",
        f"--hostname={name}@%h",
        "--task-events",
        "--without-gossip",
        "--without-mingle",
        "--loglevel=WARNING",
    ]


def flower_command(port: int) -> list[str]:
    """Flower. The password comes by FLOWER_BASIC_AUTH. What it saw is lost when it ends: Postgres has it all."""
    return [
        *CELERY,
        "flower",
        f"--address={LOOPBACK}",
        f"--port={port}",
        f"--tasks-columns={FLOWER_COLUMNS}",
        f"--max-tasks={FLOWER_TASKS}",
        f"--task-runtime-metric-buckets={FLOWER_BUCKETS}",
    ]


def api_command() -> list[str]:
    """The API and its pages. Where it listens comes by RAGQ_API_HOST and RAGQ_API_PORT, connections likewise."""
    return [sys.executable, "-m", "api.server"]


def llm_command(port: int) -> list[str]:
    """The embedded language model behind Ollama's HTTP API, on loopback."""
    return [sys.executable, "-m", "stack.llm_server", "--host", LOOPBACK, "--port", str(port)]
