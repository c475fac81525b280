"""Chunks by id, and the sections around them."""

from store.corpora import works
from store.corpora.keeping import keep
from store.database import Connection
from tests.store.kept_works import chunks_of_work, new_work, small_corpus

DEEP = "# A\n\nOne.\n\n## B\n\nTwo.\n\n### C\n\nThree.\n\n# D\n\nFour.\n"


async def test_the_sections_around_chunks_reach_up_to_the_outermost(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    kept = await keep(connection, corpus.id, new_work(DEEP))
    stored = [chunk for chunk, _ in await chunks_of_work(connection, kept.work_id)]
    three = next(chunk for chunk in stored if chunk.content == "Three.")
    found = await works.around(connection, [three.id])

    assert sorted((chunk.level, chunk.heading_breadcrumbs) for chunk in found.values()) == [
        ("H1", "A"),
        ("H2", "A > B"),
        ("H3", "A > B > C"),
    ]


async def test_deleted_chunks_are_absent(connection: Connection) -> None:
    corpus = await small_corpus(connection)
    kept = await keep(connection, corpus.id, new_work(DEEP))
    first, *_ = [chunk for chunk, _ in await chunks_of_work(connection, kept.work_id)]

    assert await works.by_ids(connection, [first.id, 10**9]) == {first.id: first}
    assert await works.around(connection, [first.id]) == {}
