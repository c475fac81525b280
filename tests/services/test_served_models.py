"""What a submission asks of servers before anything is stored: which models they have, and whether workers ask them."""

from dataclasses import replace

import pytest

from schemas.errors import Refused
from services.new_runs import submit_run
from services.served_models import check_servers, with_models
from stack.ports import free_port
from store.database import Connection, Database
from store.references import interviews
from store.runs import runs
from store.runs.runs import NewJob, NewRun
from tests.scripted_ollama import ScriptedOllama
from tests.services.conftest import paper_run
from tests.store.enrolled import enroll
from tests.store.reference_indexes import person


def a_run(**options: str) -> NewRun:
    return paper_run("extract", "validate", "score", **options)


def models(extractor: str, judge: str) -> NewRun:
    return a_run(
        MODEL_QUANTITATIVE_MODEL=extractor, MODEL_JUDGE_MODEL=judge, EMBEDDING_ENABLE_REFERENCE_VALIDATION="true"
    )


async def test_every_model_of_a_run_is_frozen_at_submission(ollama: ScriptedOllama, database: Database) -> None:
    run = models(ollama.model().name, ollama.model().name)

    submitted = await submit_run(database, run)

    async with database.connection() as connection:
        frozen = await runs.frozen(connection, submitted.run_id)
    assert [(one.model, one.identity.digest, one.is_from_submission) for one in frozen] == [
        (name, f"sha256:{name}", True) for name in sorted(ollama.models)
    ]


async def test_a_transcript_that_is_longer_than_its_model_reads_is_refused_with_its_tokens(
    ollama: ScriptedOllama, database: Database
) -> None:
    async with database.connection() as connection:
        await interviews.keep(
            connection,
            "data",
            [person(316, transcript="Well. " * 9000, hashed="316"), person(319, transcript="Fine.", hashed="319")],
            [],
        )
        stored = await interviews.known(connection, "data")
    jobs = [
        NewJob(
            mode="zero_shot",
            subject=str(participant_id),
            inputs={"transcript_hash": transcript.transcript_hash},
            stages=("extract", "assemble", "score"),
        )
        for participant_id, transcript in stored.items()
    ]
    run = replace(a_run(MODEL_QUANTITATIVE_MODEL=ollama.model().name, RAGQ_CONTEXT_TOKENS="8192"), jobs=jobs)

    with pytest.raises(Refused, match=r"1 of 2 transcripts .* participant 316 \(about \d+ tokens\)"):
        await submit_run(database, run)

    windowed = {"RAGQ_SCORE_INPUT": "evidence", "QUANTITATIVE_EVIDENCE_EXTRACTOR": "similarity"}
    found = a_run(MODEL_QUANTITATIVE_MODEL=ollama.model().name, RAGQ_CONTEXT_TOKENS="8192", **windowed)
    assert (await submit_run(database, replace(found, jobs=jobs))).is_new


async def test_a_run_of_a_single_question_is_not_asked_about(ollama: ScriptedOllama) -> None:
    run = replace(models(ollama.model().name, ollama.model().name), kind="query")

    assert await with_models(run) is run


async def test_a_server_that_does_not_answer_is_warned_of_before_the_run_is_stored_and_without_its_password(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    port = free_port()
    monkeypatch.setenv("OLLAMA_HOST", f"http://me:hidden@127.0.0.1:{port}")
    heard: list[str] = []

    def refuses(warning: str) -> None:
        heard.append(warning)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await submit_run(database, models("extractor", "judge"), warn=refuses)

    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM run") == 0
    assert (f"127.0.0.1:{port}" in heard[0], "`ragq doctor`" in heard[0], "hidden" in heard[0]) == (True, True, False)


GPU = {"OLLAMA_HOST": "gpu"}
NAMES = {"OLLAMA_HOST": "ollama", "RAGQ_OPENAI_BASE_URL": "openai", "RAGQ_OPENAI_EMBEDDING_BASE_URL": "embeddings"}
EMBEDDED = "http://127.0.0.1:51903"


def embedding_run(**options: str) -> NewRun:
    return paper_run("extract", "embed", "score", **options)


async def enrol(
    connection: Connection, name: str, *, stages: tuple[str, ...] = ("extract", "score"), **servers: str | None
) -> None:
    known = {name: servers.get(key) for name, key in NAMES.items()}
    await enroll(connection, *stages, name=name, servers=known)


async def test_a_named_server_that_the_workers_do_not_ask_is_refused_with_both_names(connection: Connection) -> None:
    await enrol(connection, "w1", ollama=EMBEDDED)
    with pytest.raises(Refused) as refused:
        await check_servers(connection, embedding_run(), GPU)

    words = str(refused.value)
    assert "OLLAMA_HOST is http://gpu:11434 here" in words
    assert f"the running workers ask {EMBEDDED} for stage 'extract'" in words
    assert "profile paper (OLLAMA_HOST is set)" in words
    assert "`ragq down`, then `ragq up` with OLLAMA_HOST set" in words


async def test_workers_that_are_gone_or_do_not_ask_do_not_count(connection: Connection) -> None:
    await enrol(connection, "gone", ollama=EMBEDDED)
    await connection.execute("UPDATE worker SET seen_at = now() - interval '1 minute'")
    await enrol(connection, "embeds", stages=("embed",), ollama=EMBEDDED)

    await check_servers(connection, embedding_run(), GPU)


async def test_an_openai_server_without_an_address_is_refused(connection: Connection) -> None:
    with pytest.raises(Refused, match="RAGQ_OPENAI_BASE_URL is not set"):
        await check_servers(connection, embedding_run(LLM_BACKEND="openai"), {})
    await enrol(connection, "w1", ollama=EMBEDDED)
    with pytest.raises(Refused, match="RAGQ_OPENAI_BASE_URL names, and the running workers"):
        await check_servers(connection, embedding_run(LLM_BACKEND="openai"), {"RAGQ_OPENAI_BASE_URL": "http://gpu/v1"})
    await enrol(connection, "w2", openai="http://gpu/v1")

    await check_servers(connection, embedding_run(LLM_BACKEND="openai"), {})
    await check_servers(
        connection, embedding_run(LLM_BACKEND="openai"), {"RAGQ_OPENAI_BASE_URL": "http://me:key@GPU/v1/"}
    )


async def test_an_embedder_on_a_server_without_an_address_is_refused(connection: Connection) -> None:
    await enrol(connection, "w1", stages=("extract", "score"), ollama="http://gpu:11434")
    await enrol(connection, "w2", stages=("embed",))
    with pytest.raises(Refused, match="Stage 'embed' asks a server that OLLAMA_HOST names"):
        await check_servers(connection, embedding_run(EMBEDDING_BACKEND="ollama"), GPU)
    with pytest.raises(Refused, match="RAGQ_OPENAI_EMBEDDING_BASE_URL is http://x/v1 here"):
        await enrol(connection, "w3", stages=("embed",), embeddings="http://gpu/v1")
        await check_servers(
            connection,
            embedding_run(EMBEDDING_BACKEND="openai"),
            GPU | {"RAGQ_OPENAI_EMBEDDING_BASE_URL": "http://x/v1"},
        )


async def test_a_server_of_embeddings_is_compared_by_its_own_address(connection: Connection) -> None:
    chosen = embedding_run(EMBEDDING_BACKEND="openai")
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
        await submit_run(database, embedding_run(MODEL_QUANTITATIVE_MODEL="nowhere"))

    assert f"has no model 'nowhere'. It has: {there}." in str(refused.value)
    assert "profile paper (OLLAMA_HOST is set)" in str(refused.value)
    assert "--set MODEL_QUANTITATIVE_MODEL=NAME" in str(refused.value)
    assert (await submit_run(database, embedding_run(MODEL_QUANTITATIVE_MODEL=there))).run_id == 1
