"""Late interaction between a question and chunks whose token vectors are stored."""

from collections.abc import Sequence

from stages.queries.embed import embed_question_tokens
from stages.queries.rankers.late_interaction import LateInteraction
from store.corpora import token_vectors
from store.questions.queries import StoredQuery
from workers.bindings.queries.reading import number_formats, searched_corpora
from workers.work import Work


async def late_interaction(work: Work, query: StoredQuery, chunk_ids: Sequence[int]) -> LateInteraction:
    """By the model that the corpora were embedded by."""
    searched = await searched_corpora(work, query)
    question_tokens = await embed_question_tokens(
        query.original_query,
        embedder=work.token_embedder,
        dimension=work.settings.embedding.dimension,
        digest=work.claim.inputs["model_digest"],
        dtypes=number_formats(searched),
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    kept = await work.database.with_retry(lambda connection: token_vectors.of_chunks(connection, chunk_ids))
    return LateInteraction(work.token_embedder.name, question_tokens, kept)
