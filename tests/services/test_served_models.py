"""What a submission asks of servers before anything is stored: which models they have, and whether workers ask them."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import pytest

from schemas.errors import Refused
from schemas.settings.resolve import resolve
from services.new_runs import submit_run
from services.served_models import check_servers, with_models
from stack.ports import free_port
from store.database import Connection, Database
from store.references import interviews
from store.runs import runs
from store.runs.runs import NewJob, NewRun
from tests.scripted_ollama import ScriptedOllama
from tests.store.conftest import new_run
from tests.store.reference_indexes import person
from tests.store.scored import enroll


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOllama]:
    """The server that OLLAMA_HOST names."""
    with ScriptedOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{server.port}")
        yield server


def a_run(**options: str) -> NewRun:
    return new_run(
        inputs={},
        stages=("extract", "embed", "validate", "score"),
        profile="paper",
        settings=resolve(profile="paper", options=options, environment={}, env_file=None).snapshot(),
        request={"profile_source": "OLLAMA_HOST is set"},
    )


def models(extractor: str, judge: str) -> NewRun:
    return a_run(
        MODEL_QUANTITATIVE_MODEL=extractor, MODEL_JUDGE_MODEL=judge, EMBEDDING_ENABLE_REFERENCE_VALIDATION="true"
    )


async def test_every_model_of_a_run_is_frozen_at_submission(ollama: ScriptedOllama, database: Database) -> None:
    run = models(ollama.model().name, ollama.model().name)

    submitted = await submit_run(database, run)

    frozen = await database.once(runs.frozen, submitted.run_id)
    assert [(one.model, one.identity.digest, one.is_from_submission) for one in frozen] == [
        (name, f"sha256:{name}", True) for name in sorted(ollama.models)
    ]


async def test_a_transcript_that_is_longer_than_its_model_reads_is_refused_with_its_tokens(
    ollama: ScriptedOllama, database: Database
) -> None:
    people = [person(316, transcript="Well. " * 9000, hashed="316"), person(319, transcript="Fine.", hashed="319")]
    await database.once(interviews.keep, "data", people, [])
    stages = ("extract", "assemble", "score")
    jobs = [
        NewJob(mode="zero_shot", subject=hashed, inputs={"transcript_hash": hashed}, stages=stages)
        for hashed in ("316", "319")
    ]
    short = {"MODEL_QUANTITATIVE_MODEL": ollama.model().name, "RAGQ_CONTEXT_TOKENS": "8192"}
    windowed = {"RAGQ_SCORE_INPUT": "evidence", "QUANTITATIVE_EVIDENCE_EXTRACTOR": "similarity"}

    with pytest.raises(Refused, match=r"1 of 2 transcripts .* participant 316 \(about \d+ tokens\)"):
        await submit_run(database, replace(a_run(**short), jobs=jobs))

    assert (await submit_run(database, replace(a_run(**short, **windowed), jobs=jobs))).is_new


async def test_a_run_of_a_single_question_is_not_asked_about(ollama: ScriptedOllama) -> None:
    run = replace(models(ollama.model().name, ollama.model().name), kind="query")

    assert await with_models(run) is run


async def test_a_server_that_does_not_answer_is_warned_of_first_and_without_its_password(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    port = free_port()
    monkeypatch.setenv("OLLAMA_HOST", f"http://me:hidden@127.0.0.1:{port}")

    def refuses(warning: str) -> None:
        raise KeyboardInterrupt(warning)

    with pytest.raises(KeyboardInterrupt, match=f"127.0.0.1:{port}.*`ragq doctor`") as told:
        await submit_run(database, models("extractor", "judge"), warn=refuses)

    assert "hidden" not in str(told.value)
    assert await database.once(runs.count) == 0


OLLAMA, OPENAI, EMBEDDINGS = NAMES = ("OLLAMA_HOST", "RAGQ_OPENAI_BASE_URL", "RAGQ_OPENAI_EMBEDDING_BASE_URL")
LLM, EMBED = ("extract", "score"), ("embed",)
LOCAL, GPU = {OLLAMA: "http://127.0.0.1:51903"}, {OLLAMA: "http://gpu:11434"}
BY_OPENAI, VECTORS_BY_OPENAI = {"LLM_BACKEND": "openai"}, {"EMBEDDING_BACKEND": "openai"}
NEITHER = [(LLM, GPU), (EMBED, {OPENAI: "http://e/v1"})]
OTHER = [*NEITHER, (EMBED, {EMBEDDINGS: "http://other/v1"})]

Workers = Sequence[tuple[tuple[str, ...], dict[str, str]]]
"""What they take, and the servers that they ask."""

#: Workers, settings, names that are set where a run is submitted, and why it is refused.
ASKED: list[tuple[Workers, dict[str, str], dict[str, str], str | None]] = [
    ([], {}, {OLLAMA: "gpu"}, None),
    ([(LLM, LOCAL)], {}, {OLLAMA: "gpu"},
     "OLLAMA_HOST is http://gpu:11434 here, and the running workers ask http://127.0.0.1:51903 for stage 'extract'.*"
     r"profile paper \(OLLAMA_HOST is set\).*`ragq down`, then `ragq up` with OLLAMA_HOST set"),
    ([(EMBED, LOCAL)], {}, {OLLAMA: "gpu"}, None),
    ([], BY_OPENAI, {}, "RAGQ_OPENAI_BASE_URL is not set"),
    ([(LLM, LOCAL)], BY_OPENAI, {OPENAI: "http://gpu/v1"}, "RAGQ_OPENAI_BASE_URL names, and the running workers"),
    ([(LLM, LOCAL), (LLM, {OPENAI: "http://gpu/v1"})], BY_OPENAI, {}, None),
    ([(LLM, LOCAL), (LLM, {OPENAI: "http://gpu/v1"})], BY_OPENAI, {OPENAI: "http://me:key@GPU/v1/"}, None),
    ([(LLM, GPU), (EMBED, {})], {"EMBEDDING_BACKEND": "ollama"}, {OLLAMA: "gpu"},
     "Stage 'embed' asks a server that OLLAMA_HOST names"),
    ([], VECTORS_BY_OPENAI, {}, "RAGQ_OPENAI_EMBEDDING_BASE_URL is not set"),
    ([], VECTORS_BY_OPENAI, {OPENAI: "http://e/v1"}, None),
    (NEITHER, VECTORS_BY_OPENAI, {EMBEDDINGS: "http://e/v1"},
     "RAGQ_OPENAI_EMBEDDING_BASE_URL names, and the running workers"),
    (OTHER, VECTORS_BY_OPENAI, {EMBEDDINGS: "http://e/v1"}, "workers ask http://other/v1 for stage 'embed'"),
    (OTHER, VECTORS_BY_OPENAI, {EMBEDDINGS: "http://e/v1"}, "RAGQ_OPENAI_EMBEDDING_BASE_URL is http://e/v1 here"),
    ([*OTHER, (EMBED, {EMBEDDINGS: "http://e/v1"})], VECTORS_BY_OPENAI, {EMBEDDINGS: "http://e/v1"}, None),
]  # fmt: skip


async def test_a_named_server_that_the_workers_do_not_ask_is_refused(connection: Connection) -> None:
    await enroll(connection, *LLM, name="gone", servers=dict.fromkeys(NAMES) | LOCAL)
    await connection.execute("UPDATE worker SET seen_at = now() - interval '1 minute'")
    for workers, options, here, refusal in ASKED:
        await connection.execute("DELETE FROM worker WHERE id <> 'gone'")
        for number, (stages, servers) in enumerate(workers):
            await enroll(connection, *stages, name=f"w{number}", servers=dict.fromkeys(NAMES) | servers)

        with pytest.raises(Refused, match=refusal) if refusal else nullcontext():
            await check_servers(connection, a_run(**options), here)


async def test_a_model_that_the_server_of_the_workers_lacks_is_refused(
    ollama: ScriptedOllama, database: Database
) -> None:
    there = ollama.model().name
    asked = dict.fromkeys(NAMES) | {OLLAMA: f"http://127.0.0.1:{ollama.port}"}
    async with database.connection() as connection:
        await enroll(connection, *LLM, servers=asked)

    with pytest.raises(Refused) as refused:
        await submit_run(database, a_run(MODEL_QUANTITATIVE_MODEL="nowhere"))

    told = (f"has no model 'nowhere'. It has: {there}.", "profile paper (OLLAMA_HOST is set)")
    assert all(words in str(refused.value) for words in (*told, "--set MODEL_QUANTITATIVE_MODEL=NAME"))
    assert (await submit_run(database, a_run(MODEL_QUANTITATIVE_MODEL=there))).run_id == 1
