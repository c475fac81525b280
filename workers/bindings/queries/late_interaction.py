"""Late interaction between a question and chunks whose token vectors are stored."""

from collections.abc import Sequence

from stages.queries.embed import embed_question_tokens
from stages.queries.rankers.late_interaction import LateInteraction
from store.corpora import corpora, token_vectors
from store.questions.queries import StoredQuery
from workers.work import Work


async def late_interaction(work: Work, query: StoredQuery, chunk_ids: Sequence[int]) -> LateInteraction:
    """By the model that the corpus was embedded by."""
    corpus = await work.database.with_retry(lambda connection: corpora.corpus(connection, query.corpus_id))
    question_tokens = await embed_question_tokens(
        query.original_query,
        embedder=work.token_embedder,
        dimension=work.settings.embedding.dimension,
        digest=work.claim.inputs["model_digest"],
        dtypes=corpus.model_dtypes,
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
    )
    kept = await work.database.with_retry(lambda connection: token_vectors.of_chunks(connection, chunk_ids))
    return LateInteraction(work.token_embedder.name, question_tokens, kept)
