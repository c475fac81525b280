"""Chunks and questions are read in the language of their corpus."""

import asyncpg
import numpy as np
import pytest

from schemas.values.documents import StoredCorpus
from store.corpora import corpora
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.keeping import keep
from store.database import Connection, Database
from tests.store.embedded import embed_and_publish
from tests.store.kept_works import new_work

TEXTS = {
    "english": ("The leaves were drying for days.", "dry day", "leaves"),
    "german": ("Die Häuser standen an den Straßen der alten Städte.", "Haus Straße", "Häuser"),
    "french": ("Les chevaux couraient dans les prairies normandes.", "cheval prairie", "chevaux"),
    "russian": ("Высокие горы были покрыты снегами.", "гора снег", "горы"),
    "polish": ("Wysokie góry były pokryte śniegami.", "góry śniegami", "góry"),
    "japanese": ("tea 緑茶 の葉", "緑茶 tea", "緑茶"),
}


async def made(connection: Connection, name: str, language: str | None) -> StoredCorpus:
    return await corpora.make(
        connection, name, backend="b", model="m", dimension=2, embeds_headings=True, language=language
    )


async def corpus_of(connection: Connection, language: str | None, text: str) -> int:
    corpus = await made(connection, f"works in {language}", language)
    kept = await keep(connection, corpus.id, new_work(f"# Title\n\n{text}\n", source_path=language))
    ids = await connection.fetch("SELECT id FROM chunks WHERE work_id = $1 AND vector_status = 'to_vec'", kept.work_id)
    vectors = np.ones((len(ids), 2), dtype=np.float32)
    await embed_and_publish(connection, corpus.id, [row["id"] for row in ids], vectors)
    return corpus.id


@pytest.mark.parametrize("language", TEXTS)
async def test_every_scorer_reads_texts_and_questions_by_the_dictionary_of_the_corpus(
    database: Database, language: str
) -> None:
    text, other_forms, same_form = TEXTS[language]
    async with database.connection() as connection:
        corpus_id = await corpus_of(connection, language, text)
    search = PostgresChunkSearch(database, k1=0.9, b=0.4)

    for scorer in ("bm25", "websearch"):
        for asked in (other_forms, same_form):
            (hits,) = await search.lexical([corpus_id], [asked], limit=5, scorer=scorer)
            assert len(hits) == 1, (scorer, asked)


async def test_chunks_are_not_stored_without_a_language(connection: Connection) -> None:
    with pytest.raises(asyncpg.RaiseError, match="has no language yet"):
        await corpus_of(connection, None, "Tea.")
    assert await connection.fetchval("SELECT count(*) FROM works") == 0
