"""What a submission names and what the running workers ask are compared before anything is stored."""

import pytest

from schemas.errors import Refused
from services.new_runs import submit_run
from services.served_models import check_servers
from store.database import Connection, Database
from store.runs.runs import NewRun
from tests.scripted_ollama import ScriptedOllama
from tests.services.conftest import paper_run
from tests.store.enrolled import enroll

GPU = {"OLLAMA_HOST": "gpu"}
NAMES = {"OLLAMA_HOST": "ollama", "RAGQ_OPENAI_BASE_URL": "openai", "RAGQ_OPENAI_EMBEDDING_BASE_URL": "embeddings"}
EMBEDDED = "http://127.0.0.1:51903"


def a_run(**options: str) -> NewRun:
    return paper_run("extract", "embed", "score", **options)


async def enrol(
    connection: Connection, name: str, *, stages: tuple[str, ...] = ("extract", "score"), **servers: str | None
) -> None:
    known = {name: servers.get(key) for name, key in NAMES.items()}
    await enroll(connection, *stages, name=name, servers=known)


async def test_a_named_server_that_the_workers_do_not_ask_is_refused_with_both_names(connection: Connection) -> None:
    await enrol(connection, "w1", ollama=EMBEDDED)
    with pytest.raises(Refused) as refused:
        await check_servers(connection, a_run(), GPU)

    words = str(refused.value)
    assert "OLLAMA_HOST is http://gpu:11434 here" in words
    assert f"the running workers ask {EMBEDDED} for stage 'extract'" in words
    assert "profile paper (OLLAMA_HOST is set)" in words
    assert "`ragq down`, then `ragq up` with OLLAMA_HOST set" in words


async def test_workers_that_are_gone_or_do_not_ask_do_not_count(connection: Connection) -> None:
    await enrol(connection, "gone", ollama=EMBEDDED)
    await connection.execute("UPDATE worker SET seen_at = now() - interval '1 minute'")
    await enrol(connection, "embeds", stages=("embed",), ollama=EMBEDDED)

    await check_servers(connection, a_run(), GPU)


async def test_an_openai_server_without_an_address_is_refused(connection: Connection) -> None:
    with pytest.raises(Refused, match="RAGQ_OPENAI_BASE_URL is not set"):
        await check_servers(connection, a_run(LLM_BACKEND="openai"), {})
    await enrol(connection, "w1", ollama=EMBEDDED)
    with pytest.raises(Refused, match="RAGQ_OPENAI_BASE_URL names, and the running workers"):
        await check_servers(connection, a_run(LLM_BACKEND="openai"), {"RAGQ_OPENAI_BASE_URL": "http://gpu/v1"})
    await enrol(connection, "w2", openai="http://gpu/v1")

    await check_servers(connection, a_run(LLM_BACKEND="openai"), {})
    await check_servers(connection, a_run(LLM_BACKEND="openai"), {"RAGQ_OPENAI_BASE_URL": "http://me:key@GPU/v1/"})


async def test_an_embedder_on_a_server_without_an_address_is_refused(connection: Connection) -> None:
    await enrol(connection, "w1", stages=("extract", "score"), ollama="http://gpu:11434")
    await enrol(connection, "w2", stages=("embed",))
    with pytest.raises(Refused, match="Stage 'embed' asks a server that OLLAMA_HOST names"):
        await check_servers(connection, a_run(EMBEDDING_BACKEND="ollama"), GPU)
    with pytest.raises(Refused, match="RAGQ_OPENAI_EMBEDDING_BASE_URL is http://x/v1 here"):
        await enrol(connection, "w3", stages=("embed",), embeddings="http://gpu/v1")
        await check_servers(
            connection, a_run(EMBEDDING_BACKEND="openai"), GPU | {"RAGQ_OPENAI_EMBEDDING_BASE_URL": "http://x/v1"}
        )


async def test_a_server_of_embeddings_is_compared_by_its_own_address(connection: Connection) -> None:
    chosen = a_run(EMBEDDING_BACKEND="openai")
    here = {"RAGQ_OPENAI_EMBEDDING_BASE_URL": "http://e/v1"}
    with pytest.raises(Refused, match="RAGQ_OPENAI_EMBEDDING_BASE_URL is not set"):
        await check_servers(connection, chosen, {})
    await check_servers(connection, chosen, {"RAGQ_OPENAI_BASE_URL": "http://e/v1"})
    await enrol(connection, "w1", stages=("extract", "score"), ollama="http://gpu:11434")
    await enrol(connection, "w2", stages=("embed",), openai="http://e/v1")
    with pytest.raises(Refused, match="RAGQ_OPENAI_EMBEDDING_BASE_URL names, and the running workers"):
        await check_servers(connection, chosen, here)
    await enrol(connection, "w3", stages=("embed",), embeddings="http://other/v1")
    with pytest.raises(Refused, match="workers ask http://other/v1 for stage 'embed'"):
        await check_servers(connection, chosen, here)
    await enrol(connection, "w4", stages=("embed",), embeddings="http://e/v1")

    await check_servers(connection, chosen, here)


async def test_a_model_that_the_server_of_the_workers_lacks_is_refused(
    ollama: ScriptedOllama, database: Database
) -> None:
    there = ollama.model().name
    async with database.connection() as connection:
        await enrol(connection, "w1", ollama=f"http://127.0.0.1:{ollama.port}")

    with pytest.raises(Refused) as refused:
        await submit_run(database, a_run(MODEL_QUANTITATIVE_MODEL="nowhere"))

    assert f"has no model 'nowhere'. It has: {there}." in str(refused.value)
    assert "profile paper (OLLAMA_HOST is set)" in str(refused.value)
    assert "--set MODEL_QUANTITATIVE_MODEL=NAME" in str(refused.value)
    assert (await submit_run(database, a_run(MODEL_QUANTITATIVE_MODEL=there))).run_id == 1
