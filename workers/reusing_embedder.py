"""An embedder that computes no vector again that an attempt has stored."""

import hashlib
from collections.abc import Sequence

import numpy as np

from schemas.errors import TextTooLongError
from stages.ports import Embedder, TextVectors
from store.database import Database
from store.runs import known_vectors
from store.runs.known_vectors import KeyedText


class ReusingEmbedder:
    """The port Embedder over another one. Vectors have `dimension` numbers.

    A vector is found by a hash over its text, the model, its weights, the number format and the dimension. Of two
    tasks that embed one text at the same moment, both compute it. Where the weights are not known, nothing is reused.
    """

    def __init__(self, embedder: Embedder, database: Database, *, dimension: int) -> None:
        self._embedder = embedder
        self._database = database
        self._dimension = dimension
        self.texts: list[KeyedText] = []
        """The texts that were embedded, in order, to be stored with their vectors."""

    @property
    def name(self) -> str:
        """See Embedder."""
        return self._embedder.name

    async def digest(self) -> str:
        """See Embedder."""
        return await self._embedder.digest()

    async def dtype(self) -> str:
        """See Embedder."""
        return await self._embedder.dtype()

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. A text that occurs several times is computed once."""
        digest = await self.digest() if texts else ""
        if not digest:
            return await self._embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
        by_key = {self._key(text, digest, await self.dtype()): text for text in texts}
        keys = {text: key for key, text in by_key.items()}
        known = await self._database.with_retry(
            lambda connection: known_vectors.find(connection, by_key, with_cut=truncate)
        )
        rows = {key: (found.vector, found.is_cut) for key, found in known.items()}
        missing = [text for key, text in by_key.items() if key not in rows]
        try:
            computed = await self._embedder.embed_batch(missing, timeout_s=timeout_s, truncate=truncate)
        except TextTooLongError:
            # Raised again, before any pass, with the position among all texts.
            return await self._embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
        cut = set(computed.cut)
        rows |= {
            keys[text]: (row[: self._dimension], at in cut)
            for at, (text, row) in enumerate(zip(missing, computed.vectors, strict=True))
        }
        found = [rows[keys[text]] for text in texts]
        self.texts += [KeyedText(keys[text], is_cut) for text, (_, is_cut) in zip(texts, found, strict=True)]
        return TextVectors(
            np.stack([row for row, _ in found]),
            tuple(at for at, (_, is_cut) in enumerate(found) if is_cut),
            reused=sum(keys[text] in known for text in texts),
        )

    def _key(self, text: str, digest: str, dtype: str) -> bytes:
        named = "\0".join((self.name, digest, dtype, str(self._dimension), text))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()
