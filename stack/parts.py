"""What a stack is made of: its parts, in the order in which they start, and their command lines."""

import math
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

from schemas.chains import Group, queues_of_group
from schemas.errors import StackError
from schemas.settings.process import ProcessSettings
from stack.connections import Connections, given_servers, masked
from stack.home import Home, Part, State, kept_password
from stack.ports import LOOPBACK, free_port, holder, is_free, kept_port
from stack.probes import WORKER
from stack.servers import EmbeddedServer, PostgresServer, ValkeyServer

#: Which worker takes which queues: slow generation never holds up the model in the process.
WORKER_QUEUES: dict[str, tuple[str, ...]] = {group: queues_of_group(group) for group in get_args(Group)}
#: Tasks in flight per worker. The batcher gathers its batches from them. A server of language models may have 16
#: slots, and some stages are read or stored meanwhile.
WORKER_CONCURRENCY: dict[str, int] = {"model": 16, "llm": 20}

CELERY = (sys.executable, "-m", "workers.main")
#: Tasks that Flower keeps: about 4 KB each, and its own default is twenty times as many.
FLOWER_TASKS = 5000


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
        "--tasks-columns=name,uuid,kwargs,state,received,runtime,worker",
        f"--max-tasks={FLOWER_TASKS}",
        # Seconds: its own end at 10, and a stage of a language model takes minutes.
        "--task-runtime-metric-buckets=0.01,0.1,0.5,1,5,10,30,60,120,300,600,1800",
    ]


def api_command() -> list[str]:
    """The API and its pages. Where it listens comes by RAGQ_API_HOST and RAGQ_API_PORT, connections likewise."""
    return [sys.executable, "-m", "api.server"]


#: The part that replaces a server when its variable is not set.
EMBEDDED = {"DATABASE_URL": "postgres", "REDIS_URL": "valkey", "OLLAMA_HOST": "llm"}
#: The setting that chooses the port of a part.
PORT_SETTINGS = {"api": "RAGQ_API_PORT", "flower": "RAGQ_FLOWER_PORT"}
WORKERS = tuple(f"{WORKER}{name}" for name in WORKER_QUEUES)
SERVERS = ("postgres", "valkey", "llm")
#: What everything else needs, then what answers, then what works and what looks on.
ORDER = (*SERVERS, *WORKERS, "api", "flower")

DEFAULTS = ProcessSettings()


def in_order(names: Iterable[str]) -> list[str]:
    """Names of parts as ORDER has them, each once."""
    return sorted(set(names), key=ORDER.index)


def servers_from_outside(environment: Mapping[str, str], running: State | None) -> dict[str, str]:
    """The servers that a stack uses and does not start itself. A running stack keeps those it was started with: raises
    StackError when the environment now names others."""
    given = given_servers(environment)
    if running is None:
        return given
    for variable, url in given.items():
        if url != running.servers[variable]:
            raise StackError(
                f"{variable} is {masked(url)}, and the running stack uses {masked(running.servers[variable])}. "
                f"Run `ragq down` first, or unset {variable}."
            )
    return {variable: url for variable, url in running.servers.items() if EMBEDDED[variable] not in running.parts}


def make_plan(
    home: Home,
    outside: Mapping[str, str],
    *,
    wanted: Collection[str],
    running: Collection[str],
    settings: ProcessSettings = DEFAULTS,
    started: float = 0.0,
) -> State:
    """The parts, each ready to be started, and the servers that they use.

    Servers that come from outside are not parts. Those that do not run yet are prepared: folders, passwords, ports.
    Raises StackError when somebody else listens on a port that the settings name, or the part runs with another one.
    """
    ports = {"api": settings.ragq_api_port, "flower": settings.ragq_flower_port}
    ports = {part: port for part, port in ports.items() if PORT_SETTINGS[part].lower() in settings.model_fields_set}
    names = in_order({*wanted, *running})
    servers = dict(outside)
    parts: dict[str, Part] = {}

    def add(name: str, command: list[str], port: int | None = None, **options: Any) -> None:
        parts[name] = Part(name=name, command=command, port=port, **options)

    def taken() -> set[int]:
        return {*ports.values(), *(part.port for part in parts.values() if part.port is not None)}

    def port_of(name: str) -> int:
        path = home.folder / f"{name}.port"
        if name not in ports:
            return int(path.read_text()) if name in running else kept_port(path, taken=taken())
        if name not in running:
            if not is_free(ports[name]):
                raise StackError(
                    f"The {name} cannot listen on port {ports[name]} ({PORT_SETTINGS[name]}): {holder(ports[name])} "
                    f"holds it. Set {PORT_SETTINGS[name]} to another port, such as {free_port()}, or unset it: then "
                    "`ragq up` chooses one."
                )
            path.write_text(str(ports[name]))
        elif int(path.read_text()) != ports[name]:
            raise StackError(
                f"{PORT_SETTINGS[name]} is {ports[name]}, and the {name} of the running stack listens on port "
                f"{path.read_text()}. Run `ragq down` first, or unset {PORT_SETTINGS[name]}."
            )
        return ports[name]

    embedded: dict[str, EmbeddedServer] = {
        "DATABASE_URL": PostgresServer(home.folder / "postgres"),
        "REDIS_URL": ValkeyServer(home.folder / "valkey"),
    }
    for variable, server in embedded.items():
        if variable not in outside:
            if server.name not in running:
                server.prepare(taken=taken())
            servers[variable] = server.url
            command = [*server.account.prefix, *server.command()]
            add(server.name, command, server.port, user=server.account.user, stop_signal=server.stop_signal)
    if "OLLAMA_HOST" not in outside:
        port = port_of("llm")
        servers["OLLAMA_HOST"] = f"http://{LOOPBACK}:{port}"
        command = [sys.executable, "-m", "stack.llm_server", "--host", LOOPBACK, "--port", str(port)]
        # It stores nothing, and nobody waits for a reply when it is stopped.
        add("llm", command, port, stop_timeout_s=2)

    uses = Connections(home=home, servers=servers).environment()
    # What comes from outside is in the inherited environment already.
    own = {variable: value for variable, value in uses.items() if variable not in outside}
    concurrency = WORKER_CONCURRENCY | {"llm": settings.llm_stages}
    # In the last seconds a worker gives its stages back; then it is killed.
    worker_stops_in = math.ceil(settings.ragq_stop_seconds) + 4
    # Arenas in which glibc keeps freed memory: one per thread, its default, costs a worker 60 MB more in an import.
    of_worker = {"MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2")} | own
    for name in names:
        if name.startswith(WORKER):
            worker = name.removeprefix(WORKER)
            command = worker_command(worker, WORKER_QUEUES[worker], concurrency[worker])
            add(name, command, environment=of_worker, stop_timeout_s=worker_stops_in)
    if "api" in names:
        port = port_of("api")
        # As for `ragq submit`, the address of the model has no influence on the profile of runs that it submits.
        passed = {variable: value for variable, value in own.items() if variable != "OLLAMA_HOST"}
        environment = passed | {"RAGQ_API_HOST": LOOPBACK, "RAGQ_API_PORT": str(port)}
        add("api", api_command(), port, environment=environment, stop_timeout_s=15)
    if "flower" in names:
        port = port_of("flower")
        environment = own | {"FLOWER_BASIC_AUTH": f"ragq:{kept_password(home.flower_password)}"}
        add("flower", flower_command(port), port, environment=environment, stop_timeout_s=10)
    urls = {f"{name}_url": f"http://{LOOPBACK}:{parts[name].port}" for name in PORT_SETTINGS if name in parts}
    return State(started=started, servers=servers, parts=parts, **urls)
