"""Compares the language model servers that a submission names with those that the running workers ask."""

import os
from collections.abc import Iterable, Mapping, Sequence

from schemas.errors import Refused
from schemas.settings.frozen import thaw
from schemas.settings.layers import ENV_FILE, merged
from services.model_roles import asked_models
from stack.connections import given_servers, masked
from stages.server_names import server_name
from store.database import Connection
from store.runs import workers
from store.runs.runs import NewRun
from store.runs.workers import LiveWorker

#: Backend -> the setting that names its server of language models, and that of its server of embeddings.
_CHAT = {"ollama": "OLLAMA_HOST", "openai": "RAGQ_OPENAI_BASE_URL"}
_EMBEDDINGS = {"ollama": "OLLAMA_HOST", "openai": "RAGQ_OPENAI_EMBEDDING_BASE_URL"}


async def check_servers(connection: Connection, run: NewRun, environment: Mapping[str, str] | None = None) -> None:
    """Raise Refused when the workers that would take the stages of a run ask another server than is named.

    Also when they, or without any worker this environment, have no address for the backend that the run was given.
    """
    if needed := _needed(run):
        known = merged(os.environ, ENV_FILE) if environment is None else environment
        live = await workers.live(connection)
        for stage, name in needed.items():
            _check(stage, name, _named(name, known), _takers(stage, live), run)


def askers(run: NewRun, live: Sequence[LiveWorker]) -> set[str]:
    """The servers, without secrets, that the running workers ask for the language models of a run."""
    if not live:
        return set()
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


def _named(name: str, environment: Mapping[str, str]) -> str | None:
    if name == "OLLAMA_HOST":
        return given_servers(environment).get(name)
    return environment.get(name) or environment.get("RAGQ_OPENAI_BASE_URL") or None


def _check(stage: str, name: str, named: str | None, takers: Sequence[LiveWorker], run: NewRun) -> None:
    if not takers and named is None and name != "OLLAMA_HOST":
        raise Refused(
            f"Stage '{stage}' asks a server with backend openai, and {name} is not set: set it here and for the "
            "workers (`ragq down`, then `ragq up`), or choose backend ollama."
        )
    for there in (taker.servers.get(name) for taker in takers):
        if there is None:
            raise Refused(
                f"Stage '{stage}' asks a server that {name} names, and the running workers were started without it. "
                f"Start them again with {name} set: `ragq down`, then `ragq up`."
            )
        if named is not None and server_name(named) != there:
            raise Refused(
                f"{name} is {masked(named)} here, and the running workers ask {there} for stage '{stage}'. This run "
                f"has profile {run.profile} ({run.request['profile_source']}). To have the workers ask the first, run "
                f"`ragq down`, then `ragq up` with {name} set as here; to use theirs, unset {name} and choose the "
                "profile with --profile."
            )
