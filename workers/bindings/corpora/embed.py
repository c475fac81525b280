"""Stage `embed` of a corpus: a batch of chunks in one call."""

from collections.abc import Sequence

from schemas.values.corpora import EmbeddedBatch
from stages.corpora.embed import embed_chunks
from stages.number_formats import refuse_mixture
from store.corpora import chunks, corpora
from store.runs.chain import content_hash
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedBatch]:
    """Embed the chunks that the job was submitted with."""
    return await embed(work, work.claim.inputs["chunk_ids"])


async def embed(work: Work, asked: Sequence[int]) -> Result[EmbeddedBatch]:
    """The chunks that are still there; those of works that were replaced meanwhile are counted and left."""
    corpus_id: int = work.claim.inputs["corpus_id"]
    corpus = await work.database.with_retry(lambda connection: corpora.corpus(connection, corpus_id))
    found = await work.database.with_retry(lambda connection: chunks.by_ids(connection, asked))
    left = [found[chunk_id] for chunk_id in asked if chunk_id in found]
    work.read["chunks"] = content_hash([[chunk.id, chunk.heading_breadcrumbs, chunk.content] for chunk in left])
    embedder = work.reusing_embedder(corpus.dimension)
    if left:
        refuse_mixture(await embedder.dtype(), corpus.model_dtypes, what=f"Corpus '{corpus.name}'")
    vectors, cut, reused = await embed_chunks(
        left,
        embedder=embedder,
        dimension=corpus.dimension,
        embeds_headings=corpus.embeds_headings,
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    return Result(
        EmbeddedBatch(
            model=embedder.name,
            model_digest=await embedder.digest() if left else "",
            dimension=corpus.dimension,
            chunk_ids=tuple(chunk.id for chunk in left),
            gone=len(asked) - len(left),
            cut_texts=len(cut),
            cut_chunk_ids=tuple(left[position].id for position in cut),
            dtype=await embedder.dtype() if left else "",
            reused_texts=reused,
        ),
        vectors,
        texts=embedder.texts,
    )
