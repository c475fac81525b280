"""Vectors of an embedder, checked and cut to the dimension of the index."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError, FailureCategory
from schemas.values.base import Embedded
from stages.ports import Embedder, TextVectors, Vectors

_ZERO = 1e-8
_UNIT = 1e-6

FOUND = {
    FailureCategory.EMBEDDING_NAN: "NaN",
    FailureCategory.EMBEDDING_INF: "infinite numbers",
    FailureCategory.EMBEDDING_ZERO_VECTOR: "only zeros",
}


def seen_tokens(whole: Sequence[int], limit: int | None) -> list[int]:
    """Tokens per text that a model sees, which are at most `limit`, of the tokens of the whole texts."""
    return [tokens if limit is None else min(tokens, limit) for tokens in whole]


def unit_rows(matrix: Vectors, *, rows: int, dimension: int | None = None) -> Vectors:
    """The rows, cut to `dimension` if there is one, and then normalised, so that a cut vector has length 1 too. A row
    that has length 1 but for rounding in float32 keeps its bits. Raises EmbeddingValidationError for another number of
    rows, and for NaN, infinities and rows of zeros (up to 1e-8), and EmbeddingDimensionMismatchError for shorter rows.
    """
    if matrix.ndim != 2 or len(matrix) != rows:
        raise EmbeddingValidationError(
            f"The embedder was asked for {rows} vectors and gave an array of shape {matrix.shape}; "
            "check that MODEL_EMBEDDING_MODEL names an embedding model."
        )
    if dimension is not None and matrix.shape[1] < dimension:
        raise EmbeddingDimensionMismatchError(expected=dimension, actual=matrix.shape[1])
    # Squares of large float32 numbers overflow float32.
    cut = matrix[:, :dimension].astype(np.float64)
    for at, defect in defects(cut):
        raise EmbeddingValidationError(
            f"Vector {at + 1} of {rows} has {FOUND[defect]}; check the embedding model.", defect
        )
    lengths = np.linalg.norm(cut, axis=1, keepdims=True)
    lengths[np.abs(lengths - 1) < _UNIT] = 1
    return np.asarray(cut / lengths, dtype=np.float32)


async def unit_vectors(
    texts: Sequence[str], *, embedder: Embedder, timeout_s: float, dimension: int | None = None, truncate: bool = True
) -> TextVectors:
    """One row of length 1 per text, in one call. Raises what `unit_rows` raises, and the embedder's errors unchanged.
    Texts that are longer than the embedder reads are cut and named, unless they are not to be truncated."""
    found = await embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
    return found._replace(vectors=unit_rows(found.vectors, rows=len(texts), dimension=dimension))


async def embedded_by(embedder: Embedder, found: Sequence[TextVectors], *, dimension: int) -> Embedded:
    """Which model gave these vectors; without any it is not asked for its weights."""
    return Embedded(
        model=embedder.name,
        model_digest=await embedder.digest() if found else "",
        dtype=await embedder.dtype() if found else "",
        dimension=dimension,
        cut_texts=sum(len(one.cut) for one in found),
        reused_texts=sum(one.reused for one in found),
    )


def defects(matrix: NDArray[np.floating]) -> Iterator[tuple[int, FailureCategory]]:
    """The rows that cannot be normalised, of which each has what is wrong with it."""
    for at, row in enumerate(matrix):
        if np.isnan(row).any():
            yield at, FailureCategory.EMBEDDING_NAN
        elif np.isinf(row).any():
            yield at, FailureCategory.EMBEDDING_INF
        elif (np.abs(row) <= _ZERO).all():
            yield at, FailureCategory.EMBEDDING_ZERO_VECTOR


def similarities(unit_rows: Vectors, unit_query: NDArray[np.float32]) -> NDArray[np.float64]:
    """(1 + cosine) / 2 of each row with the query, all of length 1, clipped to 0..1. The database's search is tested
    against this function. Raises EmbeddingDimensionMismatchError for a query of another length, and
    EmbeddingValidationError for a cosine that is not finite."""
    if unit_query.shape != unit_rows.shape[1:]:
        raise EmbeddingDimensionMismatchError(expected=unit_rows.shape[1], actual=unit_query.shape[-1])
    cosines = unit_rows.astype(np.float64) @ unit_query.astype(np.float64)
    if not np.isfinite(cosines).all():
        raise EmbeddingValidationError("A cosine is not a finite number; check the vectors with `unit_rows` first.")
    return np.clip((1 + cosines) / 2, 0.0, 1.0)
