"""`ragq ask`, `search` and `query`: which corpus, what is printed, the exit codes, and the deletion of a question."""

import json
from typing import Any

import numpy as np
import pytest

from cli.watch import wait_until_idle
from schemas.errors import MissingError
from schemas.values.runs import AttemptError
from services.questions.edits import answer
from store.database import Connection
from store.runs import jobs
from tests.cli.conftest import Ragq, Stored
from tests.refusals import slug_of
from tests.services.questions.questions import PROMPT, WHOLE, a_question, store_small_corpus, try_stage
from tests.store.small_corpora import SearchableChunk, store_corpus

LOCAL = ("--profile", "demo")


#: Behind a source that the answer does not cite.
SOURCES = (PROMPT.sources[0].model_copy(update={"label": "S2"}), *PROMPT.sources)
OF_BOTH = PROMPT.model_copy(update={"sources": SOURCES})
NOTHING_FITS = AttemptError("schemas.errors.NothingRelevantError", "Nothing fits.", "nothing_relevant", {})


async def run_stages(connection: Connection, run_id: int, *, fails_at: str | None = None) -> None:
    """Complete the stages of a question's job, or fail at one."""
    (job_id,) = await jobs.in_order(connection, run_id, limit=1)
    for stage in WHOLE:
        error = NOTHING_FITS if stage == fails_at else None
        await try_stage(connection, job_id, stage, error=error, prompt=OF_BOTH)


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
    assert f"By oxygen [S1][S9].\ncited:\n  [S1] {of_work}\nalso read:\n  [S2] {of_work}" in done.stdout
    assert "`ragq query show 1`" in done.stderr
    assert (found["id"], found["original_query"]) == (2, "Why is tea dark?")
    answer = found["answers"][0]
    assert ([source["label"] for source in answer["sources"]], answer["cited"]) == (["S2", "S1"], ["S1"])


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


def test_a_question_is_deleted_with_its_answers_once_that_is_confirmed(ragq: Ragq, stored: Stored) -> None:
    query = stored(a_question, *WHOLE[:-1])
    number = str(query.id)
    stored(answer, query.id, "Because of its catechins [S1].")

    kept = ragq("query", "delete", number)
    deleted, gone = [ragq("query", "delete", number, "--yes") for _ in range(2)]

    assert kept.exit_code == 1
    assert f"Delete question {query.id} of r{query.run_id} with 1 answer?" in kept.stderr
    assert (deleted.exit_code, deleted.stdout) == (0, f"Deleted question {query.id} and 1 answer.\n")
    assert isinstance(gone.exception, MissingError)


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_the_deletion_of_a_corpus_is_one_json_object(ragq: Ragq, stored: Stored, yes: tuple[str, ...]) -> None:
    stored(a_question)

    deleted = ragq("corpus", "delete", "small", *yes, "--json", input="y\n")

    assert json.loads(deleted.stdout) == {"deleted": "small", "works": 1}
