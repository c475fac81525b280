"""Stage `embed`: the texts of a query as vectors, in one call."""

from collections.abc import Collection
from typing import NamedTuple

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.queries import EmbeddedQuery, Expansion, QueryText
from stages.models import refuse_mixture
from stages.ports import Embedder, Vectors
from stages.vectors import unit_rows


class EmbeddedTexts(NamedTuple):
    """A description of the texts, and the vectors: one row of length 1 per text, in the order of `embedded.texts`."""

    embedded: EmbeddedQuery
    vectors: Vectors


def query_texts(query: str, expansion: Expansion) -> list[tuple[QueryText, str]]:
    """The query, then every search phrase, then the hypothetical answer (HyDE) if there is one."""
    texts = [(QueryText.ORIGINAL, query), *((QueryText.MQE, phrase) for phrase in expansion.queries)]
    return [*texts, (QueryText.HYDE, expansion.hyde_answer)] if expansion.hyde_answer else texts


async def embed_query(
    query: str,
    expansion: Expansion,
    *,
    embedder: Embedder,
    dimension: int,
    digest: str,
    dtypes: Collection[str] = (),
    timeout_s: float,
) -> EmbeddedTexts:
    """Embed all texts of a query in one call, with the model weights that the corpus was embedded with.

    Texts that are longer than the embedder reads are cut, and named.

    `dimension`, `digest` and `dtypes` are those of the corpus; an empty digest, on either side, is unknown and not
    compared. Raises EmbeddingArtifactMismatchError for other weights or number formats, before any call; what
    `unit_rows` raises; and the embedder's errors unchanged.
    """
    weights = await same_weights(embedder, digest, dtypes)
    texts = query_texts(query, expansion)
    found = await embedder.embed_batch([text for _, text in texts], timeout_s=timeout_s, truncate=True)
    embedded = EmbeddedQuery(
        model=embedder.name,
        model_digest=weights,
        dimension=dimension,
        texts=tuple(kind for kind, _ in texts),
        cut_texts=len(found.cut),
        cut=found.cut,
        dtype=await embedder.dtype(),
        reused_texts=found.reused,
    )
    return EmbeddedTexts(embedded, unit_rows(found.vectors, rows=len(texts), dimension=dimension))


async def same_weights(embedder: Embedder, digest: str, dtypes: Collection[str]) -> str:
    """The digest of an embedder. Raises EmbeddingArtifactMismatchError when the corpus has another known digest, or
    number formats whose vectors cannot be compared.
    """
    found = await embedder.digest()
    if digest and found and digest != found:
        raise EmbeddingArtifactMismatchError(
            f"The corpus was embedded with weights {digest[:12]}, and model '{embedder.name}' now has {found[:12]}; "
            "embed the corpus again, or restore the model."
        )
    refuse_mixture(await embedder.dtype(), dtypes, what="The corpus")
    return found
