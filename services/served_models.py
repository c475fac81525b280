"""Asks the server at submission which models a run is going to use, so that the run is held to them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import httpx

from schemas.errors import LLMError, ModelMissingError, ModelUnavailableError, StackError
from schemas.settings.frozen import thaw
from schemas.settings.layers import ENV_FILE, merged
from schemas.values.model_identities import ModelIdentity
from services.model_roles import asked_models
from services.worker_servers import askers
from stack.connections import language_model_server, masked
from store.runs.runs import NewRun
from store.runs.workers import LiveWorker

TIMEOUT_S = 3.0

_UNANSWERED = (TimeoutError, httpx.HTTPError, httpx.InvalidURL, LLMError)


Warn = Callable[[str], None]
"""Takes a sentence for whoever submits."""


def unheard(_sentence: str) -> None:
    """Nobody is warned."""


async def with_models(run: NewRun, live: Sequence[LiveWorker] = (), *, warn: Warn = unheard) -> NewRun:
    """The run with its language models as the server reports them now.

    A run of a single question is not held to its models. What is left out, what is raised, and what is warned of, is as
    `served_models` says.
    """
    is_held = run.kind != "query" or len(run.jobs) > 1
    if not (is_held or askers(run, live)) or not asked_models(run):
        return run
    models = await served_models(run, live, warn=warn)
    return replace(run, models=models) if is_held else run


async def served_models(
    run: NewRun, live: Sequence[LiveWorker] = (), *, warn: Warn = unheard
) -> tuple[ModelIdentity, ...]:
    """The language models that a run asks, by name, as the server reports them now.

    A model is left out when the server cannot be reached from here in three seconds, which is warned of, or does not
    have it: then the worker that calls it first freezes it.

    Raises ModelUnavailableError when the server that the `live` workers ask does
    not have a model.
    """
    asked_by_workers = askers(run, live)
    names = sorted(set(asked_models(run).values()))
    if not names:
        return ()
    backend = thaw(run.settings).run.llm.backend
    # As the workers ask: an Ollama server never through a proxy.
    async with httpx.AsyncClient(timeout=None, trust_env=backend == "openai") as client:
        url, ask = _asking(client, backend)
        found = [] if ask is None else await asyncio.gather(*(_identity(ask, name) for name in names))
    if url is not None and None in found:
        warn(
            f"{masked(url)} gives no usable answer, and this run asks it for {', '.join(names)}: its jobs fail until "
            "it does. `ragq doctor` shows what is missing; `ragq retry RUN` continues the jobs then."
        )
    for one in found:
        if isinstance(one, ModelMissingError) and one.server in asked_by_workers:
            naming = [f"--set {name}=NAME" for name, stored in run.settings.items() if stored["value"] == one.model]
            raise ModelUnavailableError(
                f"{one} The run has profile {run.profile} ({run.request['profile_source']}); {' or '.join(naming)} "
                "chooses another model."
            )
    return tuple(one for one in found if isinstance(one, ModelIdentity))


def _asking(
    client: httpx.AsyncClient, backend: str
) -> tuple[str | None, Callable[[str], Awaitable[ModelIdentity]] | None]:
    """The address of the server, and what asks it for a model."""
    # Help and submissions of other kinds do without it.
    from adapters.model_lists import OpenAIModelList, ollama_identity

    environment = merged(os.environ, ENV_FILE)
    if backend == "openai":
        base_url = environment.get("RAGQ_OPENAI_BASE_URL")
        if key := environment.get("RAGQ_OPENAI_API_KEY"):
            client.headers["Authorization"] = f"Bearer {key}"
        return base_url, OpenAIModelList(client, base_url).identity if base_url else None
    try:
        url = language_model_server(environment)
    except StackError:
        return None, None
    return url, None if url is None else lambda name: ollama_identity(client, url, name)


async def _identity(
    ask: Callable[[str], Awaitable[ModelIdentity]], name: str
) -> ModelIdentity | ModelMissingError | None:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await ask(name)
    except ModelMissingError as missing:
        return missing
    except _UNANSWERED:
        return None
