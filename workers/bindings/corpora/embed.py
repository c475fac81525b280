"""Stage `embed` of a corpus: a batch of chunks in one call."""

from collections.abc import Sequence

from schemas.values.corpora import CorpusChunk, EmbeddedBatch
from stages.corpora.embed import embed_chunks
from stages.corpora.embed_tokens import embed_chunk_tokens
from stages.number_formats import refuse_mixture
from stages.ports import Vectors
from store.corpora import chunks, corpora, token_vectors
from store.corpora.corpora import StoredCorpus
from store.database import Connection
from store.runs.chain import content_hash
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedBatch]:
    """Embed the chunks that the job was submitted with."""
    return await embed(work, work.claim.inputs["chunk_ids"])


async def embed(work: Work, asked: Sequence[int]) -> Result[EmbeddedBatch]:
    """The chunks that are still there; those of works that were replaced meanwhile are counted and left.

    Where the corpus keeps vectors of tokens they are stored at once: they are too many to be handed on.
    """
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
    tokens = await _tokens(work, corpus, left) if corpus.keeps_token_vectors else None

    async def keep_tokens(connection: Connection) -> None:
        if tokens is not None:
            await token_vectors.keep(connection, [chunk.id for chunk in left], tokens)

    return Result(
        EmbeddedBatch(
            model=embedder.name,
            model_digest=await embedder.digest() if left else "",
            dimension=corpus.dimension,
            chunk_ids=tuple(chunk.id for chunk in left),
            gone=len(asked) - len(left),
            tokens=None if tokens is None else sum(map(len, tokens)),
            cut_texts=len(cut),
            cut_chunk_ids=tuple(left[position].id for position in cut),
            dtype=await embedder.dtype() if left else "",
            reused_texts=reused,
        ),
        vectors,
        effect=keep_tokens,
        texts=embedder.texts,
    )


async def _tokens(work: Work, corpus: StoredCorpus, left: list[CorpusChunk]) -> list[Vectors]:
    return await embed_chunk_tokens(
        left,
        embedder=work.token_embedder,
        dimension=corpus.dimension,
        embeds_headings=corpus.embeds_headings,
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
