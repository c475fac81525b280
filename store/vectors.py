"""Conversion between numpy and pgvector; no other module converts."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from stages.ports import Vectors


def to_pgvector(rows: Iterable[NDArray[np.float32]]) -> list[Vector]:
    """One value of the type `vector` per row, bit by bit as the row is."""
    return [Vector(row) for row in rows]


def to_numpy(vector: Vector) -> NDArray[np.float32]:
    """A vector that came out of Postgres."""
    row: NDArray[np.float32] = vector.to_numpy().astype(np.float32, copy=False)
    return row


def to_matrix(vectors: Iterable[Vector]) -> Vectors:
    """Vectors that came out of Postgres, one row each; a matrix of zero rows when there are none."""
    rows = [to_numpy(vector) for vector in vectors]
    return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
