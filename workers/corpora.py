"""The stages of a corpus job: a batch of chunks, embedded and then found."""

from collections.abc import Sequence

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.base import Embedded
from schemas.values.documents import EmbeddedBatch, PublishedBatch
from stages.corpora.works import embed_chunks
from stages.models import refuse_mixture, resolved_model
from stages.vectors import embedded_by
from store.corpora import chunk_search, chunks, corpora, keeping
from store.corpora.corpora import StoredCorpus
from store.corpora.searchable import make_searchable
from store.database import Connection
from store.runs.chain import content_hash
from workers.work import Result, Work


async def run_embed(work: Work) -> Result[EmbeddedBatch]:
    """The chunks that the job was submitted with, in one call."""
    return await embed(work, work.claim.inputs["chunk_ids"])


async def embed(work: Work, asked: Sequence[int]) -> Result[EmbeddedBatch]:
    """The chunks that are still there; those of works that were replaced meanwhile are counted and left."""
    corpus_id: int = work.claim.inputs["corpus_id"]
    corpus = await work.database.ask(corpora.corpus, corpus_id)
    found = await work.database.ask(chunks.by_ids, asked)
    left = [found[chunk_id] for chunk_id in asked if chunk_id in found]
    work.read["chunks"] = content_hash([[chunk.id, chunk.heading_breadcrumbs, chunk.content] for chunk in left])
    embedder = work.reusing_embedder(corpus.dimension)
    if left:
        refuse_mixture(await embedder.dtype(), corpus.model_dtypes, what=f"Corpus '{corpus.name}'")
    embedded = await embed_chunks(
        left,
        embedder=embedder,
        dimension=corpus.dimension,
        embeds_headings=corpus.embeds_headings,
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    by = await embedded_by(embedder, [embedded] if left else [], dimension=corpus.dimension)
    batch = EmbeddedBatch(
        **dict(by),
        chunk_ids=tuple(chunk.id for chunk in left),
        gone=len(asked) - len(left),
        cut_chunk_ids=tuple(left[position].id for position in embedded.cut),
    )
    return Result(batch, embedded.vectors, texts=embedder.texts)


async def run_publish(work: Work) -> Result[PublishedBatch]:
    """Make the chunks of a batch searchable; refuses other weights than those of the batches before.

    Merges what the batches before left, and builds the index of a corpus that has grown large.
    """
    corpus_id: int = work.claim.inputs["corpus_id"]
    batch = await work.output(EmbeddedBatch)
    embedded_by = await work.attempt_id(EmbeddedBatch)
    corpus = await work.database.ask(corpora.corpus, corpus_id)
    if corpus.searchable_chunks + len(batch.chunk_ids) >= work.settings.ragq.hnsw_from_chunks:
        # Beside the batches that come meanwhile, this one too: what they add goes into the index as it is built.
        await work.database.with_retry(
            lambda connection: chunk_search.build_index(connection, corpus_id), in_session=True
        )

    await work.database.ask(keeping.merge, corpus_id)

    async def publish(connection: Connection) -> None:
        if batch.chunk_ids:
            await make_searchable(connection, corpus_id, batch.chunk_ids, embedded_by)
            await corpora.pin_model(connection, corpus_id, batch.model_digest, batch.dtype)
            if has_other_vectors(now := await corpora.corpus(connection, corpus_id), batch):
                raise EmbeddingArtifactMismatchError(
                    f"Corpus '{now.name}' has taken the vectors of {now.model} since its chunks were embedded by "
                    f"{batch.model}; the next import embeds them again."
                )

    return Result(PublishedBatch(corpus_id=corpus_id, chunks=len(batch.chunk_ids)), effect=publish)


def has_other_vectors(corpus: StoredCorpus, embedded: Embedded) -> bool:
    """Whether another model embedded these texts than the corpus: by weights, or by names where these are not known."""
    if corpus.dimension != embedded.dimension:
        return True
    if corpus.model_digest and embedded.model_digest:
        return corpus.model_digest != embedded.model_digest
    return resolved_model(corpus.model, corpus.backend) != embedded.model
