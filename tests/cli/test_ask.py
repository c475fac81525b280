"""`ragq ask` and `ragq search`: which corpus, what is printed, and the exit codes."""

import json
from typing import Any

import numpy as np
import pytest

from cli.watch import wait_until_idle
from schemas.values.queries import Answer, Origin
from schemas.values.runs import AttemptError
from store.database import Connection
from store.questions import queries
from store.runs import stages
from tests.cli.conftest import Ragq, Stored
from tests.refusals import slug_of
from tests.services.questions.questions import OUTPUTS, PROMPT, WHOLE, store_small_corpus
from tests.store.small_corpora import SearchableChunk, store_corpus

LOCAL = ("--profile", "demo")


async def run_stages(connection: Connection, run_id: int, *, fails_at: str | None = None) -> None:
    """Complete the stages of a question's job as a worker would, or fail at one."""
    (query_id,) = await queries.of_run(connection, run_id)
    query = await queries.get(connection, query_id)
    for stage in WHOLE:
        claim = await stages.claim(connection, query.job_id, stage, "worker", 60)
        if claim is None:
            return
        if stage == fails_at:
            error = AttemptError("schemas.errors.NothingRelevantError", "Nothing fits.", "nothing_relevant", {})
            await stages.fail(connection, claim, error, inputs={})
            return
        answer = Answer(origin=Origin.MODEL, model="m", prompt_hash="p", text="By air [S2].", cited=("S2",), unknown=())
        output = OUTPUTS.get(stage) or answer.model_dump(mode="json")
        await stages.commit(connection, claim, inputs={}, output=output)
        if stage == "generate":
            sources = (*PROMPT.sources, PROMPT.sources[0].model_copy(update={"label": "S2"}))
            await queries.add_result(connection, query_id, answer, sources, attempt_id=claim.attempt_id, preset=None)


@pytest.fixture
def worker(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A worker that runs a question as soon as it is followed; `fails_at` in it names a stage."""
    chosen: dict[str, Any] = {}

    def wait(run_id: int, **options: Any) -> Any:
        if "interrupted" in chosen:
            raise SystemExit(130)
        stored(run_stages, run_id, **chosen)
        return wait_until_idle(run_id, **options)

    monkeypatch.setattr("cli.ask.wait_until_idle", wait)
    return chosen


@pytest.fixture
def shelf(stored: Stored) -> None:
    stored(store_small_corpus)


def test_a_question_is_answered_with_its_sources(ragq: Ragq, shelf: None, worker: dict[str, Any]) -> None:
    done = ragq("ask", "Why", "is tea dark?", *LOCAL)
    found = json.loads(ragq("ask", "Why is tea dark?", *LOCAL, "--json").stdout)

    assert done.exit_code == 0, done.stderr
    of_work = "A work, line 1"
    assert f"By air [S2].\ncited:\n  [S2] {of_work}\nalso read:\n  [S1] {of_work}" in done.stdout
    assert "`ragq query show 1`" in done.stderr
    assert (found["id"], found["original_query"]) == (2, "Why is tea dark?")
    answer = found["answers"][0]
    assert ([source["label"] for source in answer["sources"]], answer["cited"]) == (["S1", "S2"], ["S2"])


@pytest.mark.parametrize(("command", "stage"), [("ask", "validate"), ("search", "rerank")])
def test_what_cannot_be_answered_leaves_with_3_and_the_reason(
    ragq: Ragq, shelf: None, worker: dict[str, Any], command: str, stage: str
) -> None:
    worker["fails_at"] = stage

    done, status = ragq(command, "Why is tea dark?", *LOCAL), ragq("status")

    assert (done.exit_code, "Nothing fits." in done.stderr) == (3, True)
    assert (status.exit_code, "nothing_found" in status.stdout) == (0, True)


def test_ctrl_c_leaves_the_question_running_and_names_how_to_find_it(
    ragq: Ragq, shelf: None, worker: dict[str, Any], stored: Stored
) -> None:
    worker["interrupted"] = True

    done = ragq("ask", "Why is tea dark?", *LOCAL)

    assert (done.exit_code, "`ragq query show 1`" in done.stderr) == (130, True)
    assert stored(lambda connection: connection.fetchval("SELECT status FROM job")) == "waiting"


def test_several_corpora_are_named(ragq: Ragq, shelf: None, stored: Stored) -> None:
    chunk = SearchableChunk(2, "tea", np.ones(2, dtype=np.float32))
    stored(store_corpus, [chunk], name="other")

    refused = ragq("search", "Why?", *LOCAL)

    assert slug_of(refused.exception) == "corpus-missing"
    assert "name one of them: other, small." in str(refused.exception)
