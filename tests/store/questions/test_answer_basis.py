"""What an answer is based on."""

from store.database import Database
from store.questions.answer_basis import answer_basis
from tests.services.questions.questions import PROMPT, WHOLE, a_question


async def test_chunks_of_the_sources_that_the_embedder_did_not_read_whole_are_counted(database: Database) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE)
        ids = [row["id"] for row in await connection.fetch("SELECT id FROM chunks WHERE level LIKE '%-chunk'")]
        (source, *_) = PROMPT.sources
        prompt = PROMPT.model_copy(update={"sources": (source.model_copy(update={"chunk_ids": tuple(ids)}),)})
        uncounted = await answer_basis(connection, query.job_id, prompt)
        await connection.execute("UPDATE corpus SET reads_tokens = 256")
        await connection.execute("UPDATE chunks SET tokens = CASE WHEN id = $1 THEN 257 ELSE 256 END", ids[0])
        counted = await answer_basis(connection, query.job_id, prompt)

    assert (uncounted.cut_chunks, counted.cut_chunks, counted.shown) == (0, 1, 1)
