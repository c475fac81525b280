"""Asks the server at submission which models a run is going to use, so that the run is held to them."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import httpx

from schemas.chains import CHAINS
from schemas.errors import LLMError, ModelMissingError, Refused, StackError
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ServerAddress
from schemas.settings.run import FrozenSettings, thaw
from schemas.values.chat import ModelIdentity
from stack.connections import connections, given_servers, masked
from stages.models import server_name
from store.database import Connection
from store.runs import workers
from store.runs.runs import NewRun
from store.runs.workers import LiveWorker


def asked_models(run: NewRun) -> dict[str, str]:
    """Stage -> the model that it asks, in the order of the chain; empty for a run that asks none."""
    asking = {
        stage.name for (kind, _), chain in CHAINS.items() for stage in chain if kind == run.kind and stage.asks_llm
    }
    frozen = thaw(run.settings)
    found: dict[str, str] = {}
    # A million jobs whose stages ask nobody are not read.
    for job in run.jobs if asking else ():
        for stage in job.stages:
            if stage in asking and stage not in found and frozen.asks_model(run.kind, stage, job.inputs):
                found[stage] = model_of(run.kind, stage, frozen, job.inputs)
    return found


def model_of(kind: str, stage: str, frozen: FrozenSettings, inputs: Mapping[str, Any]) -> str:
    """The model that a stage asks which asks one."""
    settings = frozen.run
    match kind, stage:
        case "participant", "validate":
            return settings.validation_model
        case "query", "validate":
            assert frozen.preset is not None
            return frozen.preset.validation.model or settings.model.judge_model
        case "query", _:
            return settings.query_light_model if inputs.get("light_model") else settings.query_model
        case "work", _:
            return settings.document_model
        case "evaluation", _:
            return settings.model.judge_model
        case "index", _:
            scorer: str = inputs["scorer_model"]
            return scorer
    return settings.model.quantitative_model


_OLLAMA, _OPENAI = "OLLAMA_HOST", "RAGQ_OPENAI_BASE_URL"
#: Backend -> the setting that names its server of language models, and that of its server of embeddings.
_CHAT = {"ollama": _OLLAMA, "openai": _OPENAI}
_EMBEDDINGS = {"ollama": _OLLAMA, "openai": "RAGQ_OPENAI_EMBEDDING_BASE_URL"}


async def check_servers(connection: Connection, run: NewRun, environment: Mapping[str, str] | None = None) -> None:
    """Raise Refused when the workers that would take the stages of a run ask another server than is named. Also when
    they, or without any worker this environment, have no address for the backend that the run was given."""
    if not (needed := _needed(run)):
        return
    known = merged(os.environ, ENV_FILE) if environment is None else environment
    live = await workers.live(connection)
    for stage, name in needed.items():
        ours = given_servers(known).get(name) if name == _OLLAMA else known.get(name) or known.get(_OPENAI)
        takers = _takers(stage, live)
        if not (takers or ours or name == _OLLAMA):
            raise Refused(
                f"Stage '{stage}' asks a server with backend openai, and {name} is not set: set it here and for the "
                "workers (`ragq down`, then `ragq up`), or choose backend ollama."
            )
        for theirs in (taker.servers.get(name) for taker in takers):
            if theirs is None:
                raise Refused(
                    f"Stage '{stage}' asks a server that {name} names, and the running workers were started without "
                    f"it. Start them again with {name} set: `ragq down`, then `ragq up`."
                )
            if ours and server_name(ours) != theirs:
                raise Refused(
                    f"{name} is {masked(ours)} here, and the running workers ask {theirs} for stage '{stage}'. This "
                    f"run has profile {run.profile} ({run.request['profile_source']}). To have the workers ask the "
                    f"first, run `ragq down`, then `ragq up` with {name} set as here; to use theirs, unset {name} and "
                    "choose the profile with --profile."
                )


def askers(run: NewRun, live: Sequence[LiveWorker]) -> set[str]:
    """The servers, without secrets, that the running workers ask for the language models of a run."""
    return {
        address
        for stage, name in _needed(run).items()
        for taker in _takers(stage, live)
        if (address := taker.servers.get(name))
    }


def _needed(run: NewRun) -> dict[str, str]:
    """Stage -> the setting that names the server which it asks."""
    settings = thaw(run.settings).run
    needed = dict.fromkeys(asked_models(run), _CHAT[settings.llm.backend])
    if settings.embedding.backend in _EMBEDDINGS and any("embed" in job.stages for job in run.jobs):
        needed["embed"] = _EMBEDDINGS[settings.embedding.backend]
    return needed


def _takers(stage: str, live: Iterable[LiveWorker]) -> list[LiveWorker]:
    """The workers of a stage; of those on one host with the same stages the newest, which replaced the others."""
    newest = {(worker.host, worker.stages): worker for worker in live if stage in worker.stages}
    return list(newest.values())


TIMEOUT_S = 3.0

_UNANSWERED = (TimeoutError, httpx.HTTPError, httpx.InvalidURL, LLMError)


Warn = Callable[[str], None]
"""Takes a sentence for whoever submits."""


async def served_models(
    run: NewRun, live: Sequence[LiveWorker], *, warn: Warn | None = None
) -> tuple[ModelIdentity, ...]:
    """The language models that a run asks, by name, as the server reports them now.

    A model is left out when the server cannot be reached from here in three seconds, which is warned of, or does not
    have it: then the worker that calls it first freezes it.

    Raises Refused when the server that the `live` workers ask does not have a model.
    """
    names = sorted(set(asked_models(run).values()))
    if not names:
        return ()
    asked_by_workers = askers(run, live)
    backend = thaw(run.settings).run.llm.backend
    try:
        server = chat_server(backend, merged(os.environ, ENV_FILE))
    except StackError:
        server = None
    if server is None:
        return ()
    found = await identities(backend, server, names)
    if warn is not None and any(not isinstance(one, ModelIdentity | ModelMissingError) for one in found):
        warn(
            f"{masked(server.base_url)} gives no usable answer, and this run asks it for {', '.join(names)}: its jobs "
            "fail until it does. `ragq doctor` shows what is missing; `ragq retry RUN` continues the jobs then."
        )
    for one in found:
        if isinstance(one, ModelMissingError) and one.server in asked_by_workers:
            naming = [f"--set {name}=NAME" for name, stored in run.settings.items() if stored["value"] == one.model]
            raise Refused(
                f"{one} The run has profile {run.profile} ({run.request['profile_source']}); {' or '.join(naming)} "
                "chooses another model."
            )
    return tuple(one for one in found if isinstance(one, ModelIdentity))


def chat_server(backend: str, environment: Mapping[str, str]) -> ServerAddress | None:
    """The server of language models that the environment or the running stack names; None without one. Raises
    StackError as `connections`."""
    if backend == "openai":
        url = environment.get("RAGQ_OPENAI_BASE_URL")
        return ServerAddress(url, environment.get("RAGQ_OPENAI_API_KEY") or None) if url else None
    url = connections(environment).ollama_url
    return None if url is None else ServerAddress(url, None)


async def identities(backend: str, server: ServerAddress, models: Iterable[str]) -> list[ModelIdentity | Exception]:
    """What a server says of models, as a stage would ask it: the identity of each, or why there is none."""
    # Help and submissions of other kinds do without it.
    from adapters.model_servers import ollama_identity, openai_identity

    headers = {} if server.api_key is None else {"Authorization": f"Bearer {server.api_key}"}
    ask = openai_identity if backend == "openai" else ollama_identity

    async def identity(model: str) -> ModelIdentity | Exception:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await ask(client, server.base_url, model)
        except _UNANSWERED as error:
            return error

    # As the workers ask: an Ollama server never through a proxy.
    async with httpx.AsyncClient(timeout=None, headers=headers, trust_env=backend == "openai") as client:
        return await asyncio.gather(*map(identity, models))
