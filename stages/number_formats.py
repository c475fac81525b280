"""Which number formats of an embedder give vectors that may be compared with each other."""

from collections.abc import Collection
from typing import Final

from schemas.errors import EmbeddingArtifactMismatchError

FORMATS: Final = ("float32", "bfloat16", "float16")
"""The formats that an embedder in the worker can compute in."""

#: Vectors of these may be compared: docs/benchmarks.md has the measurement. No other pair was measured.
_COMPARABLE: Final = frozenset({"float32", "bfloat16"})


def refuse_mixture(dtype: str, made_with: Collection[str], *, what: str, then: str = "retry the failed jobs") -> None:
    """Raise EmbeddingArtifactMismatchError when vectors of a format cannot be compared with those of `what`.

    Formats that are unknown, and those of servers, whose digest covers them, are not compared. `then` is what helps
    after the workers were started with the other format.
    """
    other = first_unlike(dtype, made_with)
    if other is not None:
        raise EmbeddingArtifactMismatchError(
            f"{what} was embedded in {other}, and this worker embeds in {dtype}; vectors of the two are not compared. "
            f"Start the workers with RAGQ_EMBEDDING_DTYPE={other}, and {then}."
        )


def first_unlike(dtype: str, others: Collection[str]) -> str | None:
    """The first format whose vectors cannot be compared with those of `dtype`; None when all can."""
    return next((other for other in others if not _fits(dtype, other)), None)


def _fits(dtype: str, other: str) -> bool:
    return dtype == other or {dtype, other} <= _COMPARABLE or not {dtype, other} <= set(FORMATS)
