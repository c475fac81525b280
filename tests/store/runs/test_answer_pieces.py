"""The pieces of an answer that is being written."""

import pytest

from store.database import Connection, Database
from store.questions.queries import StoredQuery
from store.runs import answer_pieces, jobs, stages
from store.runs.answer_pieces import AnswerSoFar, Position
from store.runs.stages import Claim
from tests.services.questions.questions import WHOLE, a_question
from tests.store.scored import BROKEN, claimed
from tests.store.statements import one_waits


@pytest.fixture
async def query(connection: Connection) -> StoredQuery:
    """A question whose prompt is stored."""
    return await a_question(connection, *WHOLE[:7])


async def begin(connection: Connection, query: StoredQuery, lease_s: float = 60) -> Claim:
    return await claimed(connection, query.job_id, "generate", lease_s=lease_s)


async def stored(connection: Connection) -> int:
    counted: int = await connection.fetchval("SELECT count(*) FROM answer_piece")
    return counted


async def read(connection: Connection, query: StoredQuery, *after: int) -> AnswerSoFar:
    """What was written after a position, or from the beginning."""
    found = await answer_pieces.read(connection, query.id, Position(*after or (0, 0)))
    assert found is not None
    return found


async def test_what_was_written_after_a_position_is_read_in_order(connection: Connection, query: StoredQuery) -> None:
    before = await answer_pieces.read(connection, query.id)
    claim = await begin(connection, query)
    for ordinal, text in enumerate(("By ", "oxygen", "."), start=1):
        await answer_pieces.add(connection, claim.attempt_id, ordinal, text)
        await answer_pieces.add(connection, claim.attempt_id, ordinal, "stored once")
    found = [await read(connection, query, *after) for after in ((), (claim.attempt_id, 1), (claim.attempt_id, 3))]

    assert before is not None and (before.is_written, before.is_awaited, before.text) == (False, True, None)
    assert [(one.text, one.last, one.is_written) for one in found] == [
        ("By oxygen.", 3, True),
        ("oxygen.", 3, True),
        (None, None, True),
    ]
    assert "oxygen" not in repr(found)


async def test_pieces_without_their_beginning_are_left_out(connection: Connection, query: StoredQuery) -> None:
    claim = await begin(connection, query)
    await answer_pieces.add(connection, claim.attempt_id, 5, "oxygen.")

    assert (await read(connection, query)).text is None
    assert (await read(connection, query, claim.attempt_id, 4)).text == "oxygen."


@pytest.mark.parametrize("end", ["commit", "fail", "interruption", "deletion"])
async def test_an_ended_attempt_takes_its_pieces_with_it(connection: Connection, query: StoredQuery, end: str) -> None:
    claim = await begin(connection, query, lease_s=0 if end == "interruption" else 60)
    await answer_pieces.add(connection, claim.attempt_id, 1, "By ")
    assert await stored(connection) == 1
    match end:
        case "commit":
            await stages.commit(connection, claim, inputs={}, output={})
        case "fail":
            await stages.fail(connection, claim, BROKEN, inputs={})
        case "interruption":
            await stages.expire(connection, max_interruptions=3)
        case "deletion":
            await connection.execute("DELETE FROM job WHERE id = $1", query.job_id)
    await answer_pieces.add(connection, claim.attempt_id, 2, "a late one")

    assert await stored(connection) == 0


async def test_a_piece_written_while_its_attempt_ends_is_not_kept(database: Database, query: StoredQuery) -> None:
    claim = await database.once(begin, query)
    await one_waits(
        database,
        lambda writer: answer_pieces.add(writer, claim.attempt_id, 1, "By "),
        lambda other: stages.fail(other, claim, BROKEN, inputs={}),
    )

    assert await database.once(stored) == 0


async def test_a_retried_attempt_begins_anew(connection: Connection, query: StoredQuery) -> None:
    first = await begin(connection, query)
    await answer_pieces.add(connection, first.attempt_id, 1, "By ")
    await stages.fail(connection, first, BROKEN, inputs={})
    failed = await read(connection, query)
    await jobs.retry(connection, job_id=query.job_id)
    second = await begin(connection, query)
    await answer_pieces.add(connection, second.attempt_id, 1, "Air")
    again = await read(connection, query, first.attempt_id, 1)

    assert (failed.is_awaited, failed.text, failed.result_id) == (False, None, None)
    assert (again.attempt, again.text) == (2, "Air")
