"""Copies of corpora: the same works, cut as they are, and what is new or changed since."""

from store.corpora import corpora, keeping
from store.database import Connection
from tests.store.small_corpora import new_work, small_corpus


async def test_a_copy_gets_the_works_as_they_are_cut_and_later_what_is_new_or_changed(connection: Connection) -> None:
    of, copy = await small_corpus(connection, "shelf"), await small_corpus(connection, "copy", model="other")
    tea, _ = await keeping.keep(connection, of.id, new_work("# Tea\n\nA drink.\n", source_path="tea.md"))
    assert await keeping.copy_works(connection, of.id, copy.id) == 1
    assert await keeping.copy_works(connection, of.id, copy.id) == 0

    await keeping.keep(connection, of.id, new_work("# Tea\n\nA hot drink.\n", source_path="tea.md"))
    await keeping.keep(connection, of.id, new_work("# Pot\n\nA pot.\n", source_path="pot.md"))
    assert await keeping.copy_works(connection, of.id, copy.id) == 2

    copied = await connection.fetchval("SELECT min(id) FROM works WHERE corpus_id = $1", copy.id)
    assert await keeping.cut_chunks(connection, copied) == await keeping.cut_chunks(connection, tea)
    assert (await corpora.view(connection, copy.id)).works == 2
