"""Stage `embed` of a corpus: a batch of chunks in one call."""

from schemas.values.corpora import EmbeddedBatch
from stages.corpora.embed import embed_chunks
from store import chunks, corpora
from store.chain import content_hash
from workers.work import Result, Work


async def embed_of_corpus(work: Work) -> Result:
    """The chunks that are still there; those of works that were replaced meanwhile are counted and left."""
    corpus_id: int = work.claim.inputs["corpus_id"]
    asked: list[int] = work.claim.inputs["chunk_ids"]
    corpus = await work.database.steadily(lambda connection: corpora.corpus(connection, corpus_id))
    found = await work.database.steadily(lambda connection: chunks.by_ids(connection, asked))
    left = [found[chunk_id] for chunk_id in asked if chunk_id in found]
    work.read["chunks"] = content_hash([[chunk.id, chunk.heading_breadcrumbs, chunk.content] for chunk in left])
    vectors = await embed_chunks(
        left,
        embedder=work.embedder,
        dimension=corpus.dimension,
        embeds_headings=corpus.embeds_headings,
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    return Result(
        EmbeddedBatch(
            model=work.embedder.name,
            model_digest=await work.embedder.digest() if left else "",
            dimension=corpus.dimension,
            chunk_ids=tuple(chunk.id for chunk in left),
            gone=len(asked) - len(left),
        ),
        vectors,
    )
