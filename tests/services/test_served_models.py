"""A submission asks the server which models a run is going to use."""

from dataclasses import replace

import pytest

from schemas.errors import Refused
from services.new_runs import submit_run
from services.served_models import with_models
from stack.ports import free_port
from store.database import Database
from store.references import interviews
from store.runs import runs
from store.runs.runs import NewJob, NewRun
from tests.scripted_ollama import ScriptedOllama
from tests.services.conftest import paper_run
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
