"""Stage `embed`: the texts of a query as vectors, in one call."""

from typing import NamedTuple

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.queries import EmbeddedQuery, Expansion, QueryText
from stages.corpora.embed_tokens import embed_tokens
from stages.ports import Embedder, TokenEmbedder, Vectors
from stages.vectors import unit_rows


class EmbeddedTexts(NamedTuple):
    """What was embedded, and the vectors: one row of length 1 per text, in the order of `embedded.texts`."""

    embedded: EmbeddedQuery
    vectors: Vectors


def query_texts(query: str, expansion: Expansion) -> list[tuple[QueryText, str]]:
    """The question, then every search phrase, then the made-up answer where there is one."""
    texts = [(QueryText.ORIGINAL, query), *((QueryText.MQE, phrase) for phrase in expansion.queries)]
    return [*texts, (QueryText.HYDE, expansion.hyde_answer)] if expansion.hyde_answer else texts


async def embed_query(
    query: str,
    expansion: Expansion,
    *,
    embedder: Embedder,
    dimension: int,
    digest: str,
    timeout_s: float,
) -> EmbeddedTexts:
    """Embed all texts of a query in one call, with the weights that the corpus was embedded with.

    `dimension` and `digest` are the corpus's; an empty digest, on either side, is not known and not compared. Raises
    EmbeddingArtifactMismatchError for other weights, without a call; what `unit_rows` raises; and what the embedder
    raises, as it is.
    """
    found = await same_weights(embedder, digest)
    texts = query_texts(query, expansion)
    matrix = await embedder.embed_batch([text for _, text in texts], timeout_s=timeout_s)
    embedded = EmbeddedQuery(
        model=embedder.name, model_digest=found, dimension=dimension, texts=tuple(kind for kind, _ in texts)
    )
    return EmbeddedTexts(embedded, unit_rows(matrix, rows=len(texts), dimension=dimension))


async def embed_question_tokens(
    query: str, *, embedder: TokenEmbedder, dimension: int, digest: str, timeout_s: float
) -> Vectors:
    """One row of length 1 per token of the question, by the weights that the corpus was embedded with.

    Raises as `embed_query` does.
    """
    await same_weights(embedder, digest)
    (tokens,) = await embed_tokens([query], embedder=embedder, dimension=dimension, timeout_s=timeout_s)
    return tokens


async def same_weights(embedder: Embedder | TokenEmbedder, digest: str) -> str:
    """The digest of an embedder. Raises EmbeddingArtifactMismatchError where the corpus's is known to be another."""
    found = await embedder.digest()
    if digest and found and digest != found:
        raise EmbeddingArtifactMismatchError(
            f"The corpus was embedded by {digest[:12]} and model '{embedder.name}' is now {found[:12]}; "
            "embed the corpus anew, or bring the model back."
        )
    return found
