"""Stage `embed` of a query: all of its texts in one call."""

from schemas.values.queries import EmbeddedQuery, Expansion
from stages.queries.embed import embed_query
from workers.bindings.queries.reading import number_formats, question, searched_corpora
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedQuery]:
    """By the model that the corpora were embedded by."""
    query = await question(work)
    searched = await searched_corpora(work, query)
    embedder = work.reusing_embedder(work.settings.embedding.dimension)
    embedded, vectors = await embed_query(
        query.original_query,
        await work.output(Expansion),
        embedder=embedder,
        dimension=work.settings.embedding.dimension,
        digest=work.claim.inputs["model_digest"],
        dtypes=number_formats(searched),
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    return Result(embedded, vectors, texts=embedder.texts)
