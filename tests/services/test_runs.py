"""Runs: refused where their servers or models are missing, stored with what belongs to them, retried and held."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

import pytest

from schemas.errors import MissingError, Refused, StackError
from schemas.settings.resolve import resolve
from schemas.statuses import JobStatus
from schemas.values.requests import RunTerms
from schemas.values.runs import Target
from services.new_runs import Submitted, submit_run
from services.runs import Action, ControlResult, control
from services.served_models import check_servers
from stack.ports import free_port
from stages.reports.words import DEMO_NOTICES
from store.access import RequestKey
from store.database import Connection, Database, StatementTimeoutError
from store.references import interviews
from store.runs import backlog, jobs, overviews, runs
from store.runs.backlog import Flow
from store.runs.runs import NewJob, NewRun
from tests.refusals import refused
from tests.scripted_ollama import ScriptedOllama
from tests.store.conftest import StoreRun, new_run
from tests.store.reference_indexes import person
from tests.store.scored import BROKEN, enroll, failing, take
from tests.tcp_proxy import CommitProxy

RUN = new_run(("1", "2"), request={})

NOTICES = (DEMO_NOTICES["participant"],)


async def test_a_run_is_stored_with_what_belongs_to_it_or_not(database: Database, connection: Connection) -> None:
    stored_for: list[int] = []

    async def effect(_connection: Connection, run_id: int) -> None:
        stored_for.append(run_id)

    async def fail(_connection: Connection, _run_id: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await submit_run(database, replace(RUN, effect=fail))
    assert await overviews.ids(connection) == []

    submitted = await submit_run(database, replace(RUN, effect=effect))

    assert submitted == Submitted(run_id=submitted.run_id, is_new=True, jobs=2, resumed=0, notices=NOTICES)
    assert stored_for == [submitted.run_id]


async def test_a_new_run_waits_for_another_and_a_stored_one_cannot(database: Database, connection: Connection) -> None:
    first = await submit_run(database, RUN)
    after_first = replace(RUN, terms=RunTerms(after_run_id=first.run_id))

    waiting = await submit_run(database, after_first, always_new=True)
    with pytest.raises(Refused, match="waits for no other run"):
        await submit_run(database, after_first)
    with pytest.raises(MissingError):
        await submit_run(database, replace(RUN, terms=RunTerms(after_run_id=999)), always_new=True)

    assert (await overviews.get(connection, waiting.run_id)).states == {"paused": 2}
    assert await connection.fetchval("SELECT count(*) FROM run") == 2


async def test_the_same_work_again_retries_the_jobs_that_failed(database: Database, connection: Connection) -> None:
    first = await submit_run(database, RUN)
    (job_id, _) = await jobs.in_order(connection, first.run_id, limit=2)
    await take(connection, job_id, "extract", failing(BROKEN))

    again = await submit_run(database, RUN)
    other = await submit_run(database, RUN, always_new=True)

    assert again == Submitted(run_id=first.run_id, is_new=False, jobs=2, resumed=1, notices=NOTICES)
    assert (other.run_id != first.run_id, other.is_new) == (True, True)
    # A key has no ids of jobs.
    key = RequestKey(principal="open", key="a key", request_hash="h")
    keyed, replay = [await submit_run(database, RUN, always_new=True, key=key) for _ in range(2)]
    made = await connection.fetchval("SELECT made FROM idempotency_key")
    assert made == {"run_id": keyed.run_id, "is_new": True, "jobs": 2, "resumed": 0}
    assert (replay.run_id, replay.jobs, replay.resumed, replay.is_replay) == (keyed.run_id, 2, 0, True)


@pytest.mark.parametrize("answers", [True, False], ids=["database gone then", "commit not answered"])
async def test_a_run_that_is_stored_is_returned_although_the_connection_ends(
    connection: Connection, database_url: str, answers: bool
) -> None:
    with CommitProxy(database_url, answers=answers) as proxy:
        async with Database(proxy.url, pool_size=1) as behind:
            submitted = await submit_run(behind, RUN)

    assert submitted.jobs == 2
    assert await overviews.ids(connection) == [submitted.run_id]


async def slow_commits(connection: Connection, *, then: str) -> None:
    """Has the transaction that stores a run sleep while it commits, longer than an impatient client waits."""
    await connection.execute(
        "CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN PERFORM pg_sleep(2); {then} RETURN NULL; END $$;"
        "CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON run DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION nap()"
    )


@pytest.fixture
async def impatient(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    monkeypatch.setattr("store.database._STATEMENT_SECONDS", 1.0)
    async with Database(database_url, pool_size=1) as made:
        yield made


async def test_a_run_that_commits_slowly_is_returned_once_stored(connection: Connection, impatient: Database) -> None:
    await slow_commits(connection, then="")

    submitted = await submit_run(impatient, RUN)

    assert submitted.jobs == 2
    assert await overviews.ids(connection) == [submitted.run_id]


async def test_a_commit_that_takes_too_long_and_fails_is_an_error(connection: Connection, impatient: Database) -> None:
    await slow_commits(connection, then="RAISE EXCEPTION 'no';")

    with pytest.raises(StatementTimeoutError):
        await submit_run(impatient, RUN)

    assert await overviews.ids(connection) == []


async def test_where_the_database_does_not_answer_whether_the_run_is_stored_nobody_knows(
    connection: Connection, impatient: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await slow_commits(connection, then="PERFORM pg_sleep(1);")
    monkeypatch.setattr("store.database._ASK_FOR_SECONDS", 0.2)

    with pytest.raises(StackError, match="`ragq runs`"):
        await submit_run(impatient, RUN)


async def test_held_jobs_keep_the_note_and_what_changes_nothing_is_refused(
    database: Database, store_run: StoreRun
) -> None:
    for action, status in [(Action.PAUSE, JobStatus.PAUSED), (Action.CANCEL, JobStatus.CANCELLED)]:
        stored = await store_run()
        target = Target(stored.run_id, None)

        for useless in (Action.RETRY, Action.RESUME):
            with refused("no-job-in-state", match=rf"No job of r{stored.run_id} can be {useless.verb}"):
                await control(database, target, useless)
        assert await control(database, target, action, note="not now") == ControlResult(job_ids=stored.job_ids)

        job = await database.once(jobs.get, stored.job_ids[0])
        assert (job.status, job.note) == (status, "not now")


async def test_many_jobs_change_in_batches(
    database: Database, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "BATCH", 2)
    failed, paused = [await store_run(*map(str, range(300, 305))) for _ in range(2)]
    for job_id in failed.job_ids:
        await database.once(take, job_id, "extract", failing(BROKEN))
    await control(database, Target(paused.run_id, None), Action.PAUSE)

    for stored, action in ((failed, Action.RETRY), (paused, Action.RESUME)):
        assert (await control(database, Target(stored.run_id, None), action)).job_ids == stored.job_ids
        assert (await database.once(overviews.get, stored.run_id)).states == {JobStatus.WAITING: 5}
        flow = Flow(stored.run_id, False)
        assert await database.once(backlog.oldest, {}, {flow: 9}) == {flow: stored.job_ids}


async def test_a_job_that_ended_meanwhile_is_left_as_it_is(
    connection: Connection, store_run: StoreRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await store_run("316", "317")
    found = jobs.bulk

    @asynccontextmanager
    async def begun_after_one_ended(connection: Connection, run_id: int) -> AsyncIterator[None]:
        await connection.execute("UPDATE job SET status = 'succeeded' WHERE id = $1", stored.job_ids[0])
        async with found(connection, run_id):
            yield

    monkeypatch.setattr(jobs, "bulk", begun_after_one_ended)
    held = await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=stored.run_id)

    assert held == [stored.job_ids[1]]
    states = (await overviews.get(connection, stored.run_id)).states
    assert states == {JobStatus.SUCCEEDED: 1, JobStatus.CANCELLED: 1}


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


async def test_every_model_of_a_run_is_frozen_at_submission_and_none_of_a_question(
    ollama: ScriptedOllama, database: Database
) -> None:
    run = models(ollama.model().name, ollama.model().name)

    submitted = await submit_run(database, run)

    frozen = await database.once(runs.frozen, submitted.run_id)
    assert [(one.model, one.identity.digest, one.is_from_submission) for one in frozen] == [
        (name, f"sha256:{name}", True) for name in sorted(ollama.models)
    ]
    asked = NewJob(mode="answer", subject="1", inputs={"expansion": {"origin": "model"}}, stages=("expand",))
    question = replace(run, kind="query", jobs=[asked])
    assert await database.once(runs.frozen, (await submit_run(database, question)).run_id) == []


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
    (OTHER, VECTORS_BY_OPENAI, {EMBEDDINGS: "http://e/v1"},
     "RAGQ_OPENAI_EMBEDDING_BASE_URL is http://e/v1 here.* workers ask http://other/v1 for stage 'embed'"),
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
