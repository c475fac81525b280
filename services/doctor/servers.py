"""Postgres, the broker, the workers, the API and Flower, each asked as its clients would ask it."""

import asyncio
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple

import asyncpg
import redis

from schemas.chains import QUEUES
from schemas.errors import SettingsError
from schemas.settings.base import ENV_FILE, SettingSource
from schemas.settings.process import ProcessSettings, effective_process
from schemas.settings.resolve import resolve
from stack.connections import connections, masked
from stack.home import find_home, this_environment
from stack.parts import PORT_SETTINGS, in_order
from stack.ports import holder, is_free
from stack.probes import PROBE_TIMEOUT_S, broker_answers, http_answers, redis_client
from stack.supervision import SUPERVISOR, Supervisor
from store import migrate
from store.database import DATABASE_ERRORS, Database
from store.migrate import PgvectorError
from store.runs import runs, workers
from store.runs.workers import LiveWorker

_LONGEST = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


class Verdict(StrEnum):
    """How bad it is."""

    OK = "ok"
    #: Something is missing that not every use needs.
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One line of the doctor."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""
    """What to do; empty where nothing is."""


Findings = Iterator[Finding]


def shown(text: object) -> str:
    """What a server or a person wrote, in one short line without control characters."""
    line = _CONTROL.sub(" ", str(text)).strip()
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


_UNUSABLE: Final[tuple[type[BaseException], ...]] = (*DATABASE_ERRORS, ValueError)
_LARGEST: Final = 5
UP: Final = "`ragq up` starts the embedded one"


def check_database(environment: Mapping[str, str]) -> Findings:
    """Postgres, pgvector, the tables, and the workers in them."""
    url = connections(environment).database_url
    try:
        yield from asyncio.run(_database_findings(url))
    except _UNUSABLE as error:
        why = f"{masked(url)} does not answer: {type(error).__name__}"
        yield Finding("postgres", Verdict.FAIL, shown(why), f"Start that server or correct DATABASE_URL; unset, {UP}.")


async def _database_findings(url: str) -> list[Finding]:
    # Not the pool of ragq: it needs pgvector, which may be what is missing.
    connection = await asyncpg.connect(url, timeout=PROBE_TIMEOUT_S, command_timeout=PROBE_TIMEOUT_S)
    try:
        version = await connection.fetchval("SHOW server_version")
        found = [Finding("postgres", Verdict.OK, shown(f"{version} at {masked(url)}"))]
        available, installed = await migrate.pgvector_versions(connection)
        try:
            migrate.check_pgvector(available, installed)
        except PgvectorError as error:
            found.append(Finding("pgvector", Verdict.FAIL, shown(error.problem), error.remedy))
        else:
            missing = Finding("pgvector", Verdict.FAIL, "not in this database", "`ragq db migrate` creates it.")
            found.append(Finding("pgvector", Verdict.OK, shown(installed)) if installed else missing)
        if not await migrate.is_newest_revision(connection):
            remedy = "`ragq db migrate` brings them to this version, or names what to do."
            return [*found, Finding("tables", Verdict.FAIL, "missing, or of another version", remedy)]
        found.append(Finding("tables", Verdict.OK, "of this version"))
    finally:
        await connection.close(timeout=PROBE_TIMEOUT_S)
    async with Database(url, pool_size=1) as database, database.connection() as prepared:
        full = size_findings(await runs.sizes(prepared))
        return [*found, *full, *worker_findings(await workers.live(prepared))]


def size_findings(found: Mapping[str, int]) -> Findings:
    """The largest tables."""
    tables = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in islice(found.items(), _LARGEST))
    total = sum(found.values()) / 1e6
    yield Finding("sizes", Verdict.OK, f"{total:.0f} MB in tables: {tables}; `ragq purge` deletes old runs")


def worker_findings(live: list[LiveWorker]) -> Findings:
    """Whether every stage has a worker, of this version."""
    start = "`ragq up` or `ragq worker` starts one."
    if not live:
        yield Finding("workers", Verdict.FAIL, "none was seen in the last 10 seconds", start)
        return
    servers = sorted({url for worker in live for url in worker.servers.values() if url})
    found = f"{len(live)} run" + (f"; they ask {', '.join(servers)}" if servers else "")
    missing = [queue for queue in QUEUES if not any(queue in worker.stages for worker in live)]
    if missing:
        yield Finding("workers", Verdict.WARN, f"{found}; none takes {', '.join(missing)}", start)
    else:
        yield Finding("workers", Verdict.OK, shown(found))
    here = this_environment().ragq_version
    if others := sorted({worker.version for worker in live} - {here}):
        yield Finding("workers", Verdict.WARN, f"version {', '.join(others)}, here {here}", "Install one version.")


def check_broker(environment: Mapping[str, str]) -> Findings:
    """Valkey, Redis or RabbitMQ."""
    url = connections(environment).redis_url
    if url.startswith("amqp"):
        if broker_answers(url):
            yield Finding("broker", Verdict.OK, shown(f"RabbitMQ at {masked(url)}"))
        else:
            yield _broker_missing(url, "no connection")
        return
    try:
        with redis_client(url) as client:
            told = client.info("server")
        assert isinstance(told, dict)
        version = (
            f"Valkey {told['valkey_version']}" if "valkey_version" in told else f"Redis {told.get('redis_version')}"
        )
        yield Finding("broker", Verdict.OK, shown(f"{version} at {masked(url)}"))
    except (redis.RedisError, OSError, ValueError) as error:
        yield _broker_missing(url, type(error).__name__)


def _broker_missing(url: str, why: str) -> Finding:
    found = shown(f"{masked(url)} does not answer: {why}")
    return Finding("broker", Verdict.FAIL, found, f"Start that server or correct REDIS_URL; unset, {UP}.")


def check_pages(environment: Mapping[str, str]) -> Findings:
    """The API with its pages, and Flower."""
    settings, servers = ProcessSettings.from_environment(environment), connections(environment)
    api = servers.api_url or f"http://127.0.0.1:{settings.ragq_api_port}"
    flower = servers.flower_url or f"http://127.0.0.1:{settings.ragq_flower_port}"
    for name, url, health, shown_at, start in (
        ("api", api, "healthz", f"{api}/rag", "`ragq up` or `ragq api` starts it."),
        ("flower", flower, "healthcheck", flower, "`ragq up` starts it."),
    ):
        if http_answers(f"{url}/{health}"):
            yield Finding(name, Verdict.OK, shown_at)
        else:
            yield Finding(name, Verdict.WARN, f"{url} does not answer", start)


GB = 1e9
LOW_GB, TOO_LOW_GB = 5.0, 1.0


def check_version(environment: Mapping[str, str]) -> Findings:
    """The versions here, which workers elsewhere are compared with."""
    here = this_environment()
    commit = (
        "" if here.git_commit is None else f", commit {here.git_commit[:7]}{' with changes' * bool(here.git_dirty)}"
    )
    yield Finding("ragq", Verdict.OK, f"{here.ragq_version}{commit}, Python {here.python}, {here.cores} cores")


def check_settings(environment: Mapping[str, str]) -> Findings:
    """The profile of a submission, and names that have no effect."""
    try:
        settings = resolve(environment=os.environ, env_file=ENV_FILE)
        effective_process(os.environ, ENV_FILE)
    except SettingsError as error:
        for problem in error.problems:
            yield Finding(
                "settings", Verdict.FAIL, shown(problem), "`ragq config show --json` lists what each accepts."
            )
        return
    changed = ", ".join(f"{name}={shown(change.value)}" for name, change in settings.changed.items())
    more = f"; changed: {changed}" if changed else ""
    yield Finding("profile", Verdict.OK, f"{settings.profile}: {settings.profile_source}{more}")
    for warning in settings.warnings:
        yield Finding("settings", Verdict.WARN, shown(warning))


def check_disk(environment: Mapping[str, str]) -> Findings:
    """Room for the data of the embedded servers."""
    folder = find_home(environment).folder
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        yield Finding("disk", Verdict.FAIL, f"{folder}: {error.strerror}", "Set RAGQ_HOME to a folder of your own.")
        return
    free = shutil.disk_usage(existing).free / GB
    verdict = Verdict.FAIL if free < TOO_LOW_GB else Verdict.WARN if free < LOW_GB else Verdict.OK
    remedy = "" if verdict is Verdict.OK else "Free some, or set RAGQ_HOME to a folder on another disk."
    yield Finding("disk", verdict, f"{free:.1f} GB free for {folder}", remedy)


def check_stack(environment: Mapping[str, str]) -> Findings:
    """The embedded stack, its parts and their ports."""
    home = find_home(environment)
    state = home.read_state()
    if state is None:
        yield Finding("stack", Verdict.WARN, f"nothing runs in {home.folder}", "`ragq up` starts it.")
    else:
        supervisor = Supervisor(home)
        up = supervisor.up() if supervisor.is_running() else set()
        down = in_order(name for name in state.parts if name not in up and name != SUPERVISOR)
        ports = ", ".join(f"{name} {part.port}" for name, part in state.parts.items() if part.port)
        if down:
            remedy = f"`ragq logs {down[0]}` shows why; `ragq up` starts what does not run."
            yield Finding("stack", Verdict.FAIL, f"not running: {', '.join(down)}", remedy)
        else:
            yield Finding("stack", Verdict.OK, f"{len(up)} parts run; ports: {ports}")
    yield from _chosen_ports({} if state is None else {name: part.port for name, part in state.parts.items()})


def _chosen_ports(running: Mapping[str, int | None]) -> Findings:
    settings, sources = effective_process(os.environ, ENV_FILE)
    for part, port in {"api": settings.ragq_api_port, "flower": settings.ragq_flower_port}.items():
        name = PORT_SETTINGS[part]
        if sources[name] is SettingSource.DEFAULT or running.get(part) == port or is_free(port):
            continue
        yield Finding(
            "ports", Verdict.WARN, f"{name} is {port}, which {holder(port)} holds", f"Set {name} to another port."
        )
