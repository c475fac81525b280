"""Vectors that attempts stored, found again by the text that they were computed from."""

from collections.abc import Collection
from typing import NamedTuple

from stages.ports import Vectors
from store.database import Connection
from store.vectors import to_numpy

# The oldest, so that every later use of a text has the same bits.
FIND = """
SELECT DISTINCT ON (text_key) text_key, vector, is_cut FROM stage_vector
WHERE text_key = ANY($1::bytea[]) AND ($2 OR NOT is_cut)
ORDER BY text_key, attempt_id, ordinal
"""


class KeyedText(NamedTuple):
    """The text of a vector, as far as it is stored with the vector."""

    key: bytes
    """A hash over the text, the model and its settings."""
    is_cut: bool
    """The model read only a part of the text."""


class KnownVector(NamedTuple):
    """A vector that was stored before."""

    vector: Vectors
    is_cut: bool


async def find(connection: Connection, keys: Collection[bytes], *, with_cut: bool) -> dict[bytes, KnownVector]:
    """The stored vectors of texts, by key; texts without any are absent, without `with_cut` those that were cut too."""
    rows = await connection.fetch(FIND, list(keys), with_cut)
    return {row["text_key"]: KnownVector(to_numpy(row["vector"]), row["is_cut"]) for row in rows}
