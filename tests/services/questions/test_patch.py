"""A question changed in place: what the change made stale is gone from the chain, and nothing runs by itself."""

from typing import Any

import pytest

from schemas.errors import QueryMissingError, QueryValueError, Refused, StageRunningError
from schemas.values.queries import Expansion, Intent, Origin
from services.questions.edits import found
from services.questions.patch import QueryPatch, patch
from store.database import Connection, Database
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts, pending_chains, stages
from tests.services.questions.questions import EXPANSION, WHOLE, a_question, chain, flaws, job_status

TO_CONSOLIDATE = WHOLE[:6]


async def expansion(connection: Connection, query: StoredQuery) -> Expansion:
    stored = await attempts.output(connection, query.job_id, "expand")
    assert stored is not None
    return Expansion.model_validate(stored.value)


async def places(connection: Connection, query: StoredQuery) -> list[int]:
    stored = await attempts.output(connection, query.job_id, "consolidate")
    assert stored is not None
    return [group["chunk_ids"][0] for group in stored.value["groups"]]


async def needs(connection: Connection, query: StoredQuery) -> str:
    (line,) = await queries.lines(connection, query_id=query.id)
    return line.status


@pytest.mark.parametrize(
    ("change", "new"),
    [
        ({"expanded_queries": [" tannin ", "tea"]}, {"queries": ("tannin", "tea")}),
        ({"expanded_queries": None}, {"queries": ()}),
        ({"hyde_answer": "Because."}, {"hyde_answer": "Because."}),
        ({"hyde_answer": None}, {"hyde_answer": ""}),
        ({"intent": "definition"}, {"intent": Intent.DEFINITION}),
        ({"intent": ""}, {"intent": None}),
        ({"intent": None}, {"intent": None}),
        ({"entities": ["leaf"], "intent": "CRITIQUE"}, {"entities": ("leaf",), "intent": Intent.CRITIQUE}),
        ({"entities": []}, {"entities": ()}),
    ],
)
async def test_a_changed_expansion_keeps_its_other_parts_and_needs_vectors(
    database: Database, change: dict[str, Any], new: dict[str, Any]
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE)

        await patch(connection, query, QueryPatch(**change))

        assert await expansion(connection, query) == EXPANSION.model_copy(update=new | {"origin": Origin.EDITED})
        assert await chain(connection, query.job_id) == {"expand": "done"}
        assert (await job_status(connection, query.job_id), await needs(connection, query)) == (
            "succeeded",
            "needs_embeddings",
        )
        assert await pending_chains.pending_chains(connection, [query.job_id]) == []
        assert await flaws(connection) == []


@pytest.mark.parametrize("done", [(), ("expand",), WHOLE])
async def test_another_text_keeps_the_expansion_there_is_and_needs_vectors(
    database: Database, done: tuple[str, ...]
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *done)

        await patch(connection, query, QueryPatch(original_query=" Why is tea brown? ", hyde_answer="Because."))

        assert (await found(connection, query.id)).original_query == "Why is tea brown?"
        old = EXPANSION if done else Expansion(origin=Origin.NONE)
        assert await expansion(connection, query) == old.model_copy(
            update={"origin": Origin.EDITED, "hyde_answer": "Because."}
        )
        assert await chain(connection, query.job_id) == {"expand": "done"}
        assert await needs(connection, query) == "needs_embeddings"


async def test_chosen_passages_are_kept_in_their_order_and_wait_for_a_prompt(database: Database) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE)

        await patch(connection, query, QueryPatch(context=[3, 1]))

        assert await places(connection, query) == [3, 1]
        assert list(await chain(connection, query.job_id)) == list(TO_CONSOLIDATE)
        assert (await job_status(connection, query.job_id), await needs(connection, query)) == ("succeeded", "ready")
        assert await flaws(connection) == []


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"original_query": " Why is tea dark?"},
        {"intent": "mechanism", "entities": ["tea"], "hyde_answer": EXPANSION.hyde_answer, "context": [1, 2, 3]},
        {"expanded_queries": list(EXPANSION.queries)},
    ],
)
async def test_values_that_are_there_already_change_nothing(database: Database, change: dict[str, Any]) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE)
        before = await attempts.history(connection, query.job_id)

        await patch(connection, query, QueryPatch(**change))

        assert await chain(connection, query.job_id) == dict.fromkeys(WHOLE, "done")
        assert len(await attempts.history(connection, query.job_id)) == len(before)
        assert await found(connection, query.id) == query


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"original_query": " "}, "original_query is blank"),
        ({"original_query": "a" * 2001}, "at most 2000"),
        ({"original_query": "a\x00"}, "cannot be stored"),
        ({"intent": "GUESS"}, "intent is none of DEFINITION"),
        ({"hyde_answer": "a" * 10_001}, "hyde_answer has 10001 characters"),
        ({"hyde_answer": "\ud83d"}, "cannot be stored"),
        ({"entities": ["tea", " "]}, "entities, entry 2 is blank"),
        ({"entities": ["tea"] * 51}, "has 51 entries"),
        ({"expanded_queries": ["a" * 501]}, "expanded_queries, entry 1 has 501"),
        ({"context": [1, 1]}, "3 passages"),
        ({"context": [4]}, "3 passages"),
        ({"context": []}, "3 passages"),
        ({"context": [2, 1], "intent": "CRITIQUE"}, "as it was"),
    ],
)
async def test_a_value_that_cannot_be_taken_changes_nothing_at_all(
    database: Database, change: dict[str, Any], problem: str
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE)
        also: dict[str, Any] = {} if "context" in change else {"original_query": "Another?"}

        with pytest.raises(QueryValueError, match=problem):
            await patch(connection, query, QueryPatch(**also | change))

        assert await found(connection, query.id) == query
        assert await chain(connection, query.job_id) == dict.fromkeys(WHOLE, "done")


async def test_a_patch_of_what_runs_or_is_not_there_is_refused(database: Database) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, "expand")
        with pytest.raises(Refused, match="no consolidated context"):
            await patch(connection, query, QueryPatch(context=[1]))
        await stages.claim(connection, query.job_id, "embed", "worker", 60)
        with pytest.raises(StageRunningError):
            await patch(connection, query, QueryPatch(intent="CRITIQUE"))
        await connection.execute("DELETE FROM queries")
        with pytest.raises(QueryMissingError):
            await patch(connection, query, QueryPatch(intent="CRITIQUE"))
