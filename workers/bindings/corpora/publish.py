"""Stage `publish` of a corpus: the chunks of a batch can be found, together with their postings and their count."""

from schemas.values.corpora import EmbeddedBatch, PublishedBatch
from store.corpora import corpora, merging, vector_index
from store.corpora.searchable import make_searchable
from store.database import Connection
from workers.work import Result, Work


async def run(work: Work) -> Result[PublishedBatch]:
    """Refuse other weights than those of the batches before; merge the postings that the batches before left, and build
    the index of a corpus that has grown large."""
    corpus_id: int = work.claim.inputs["corpus_id"]
    batch = await work.output(EmbeddedBatch)
    embedded_by = await work.attempt_id(EmbeddedBatch)
    corpus = await work.database.with_retry(lambda connection: corpora.corpus(connection, corpus_id))
    if corpus.searchable_chunks + len(batch.chunk_ids) >= work.settings.ragq.hnsw_from_chunks:
        # Beside the batches that come meanwhile, this one too: what they add goes into the index as it is built.
        await work.database.with_retry(
            lambda connection: vector_index.build_index(connection, corpus_id), in_session=True
        )

    await work.database.with_retry(lambda connection: merging.merge(connection, corpus_id))

    async def publish(connection: Connection) -> None:
        if batch.chunk_ids:
            await make_searchable(connection, corpus_id, batch.chunk_ids, embedded_by)
            await corpora.pin_model(connection, corpus_id, batch.model_digest, batch.dtype)

    return Result(PublishedBatch(corpus_id=corpus_id, chunks=len(batch.chunk_ids)), effect=publish)
