"""An embedder whose vectors the test chooses, or that hashes its texts."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from schemas.errors import LLMTimeoutError, TextTooLongError
from stages.ports import TextVectors


def hash_vector(text: str) -> list[float]:
    """Eight numbers that depend on the text alone, between -1 and 1."""
    return [byte / 127.5 - 1 for byte in hashlib.sha256(text.encode()).digest()[:8]]


@dataclass
class FakeEmbedder:
    """An Embedder that asks `vector_of` for each text. `calls` keeps the texts of each call, in order."""

    vector_of: Callable[[str], Sequence[float]] = hash_vector
    name: str = "fake"
    calls: list[list[str]] = field(default_factory=list)
    digests_asked: int = 0
    delay_s: float = 0.0
    max_chars: int = 1_000_000
    """Longer texts are cut."""

    async def digest(self) -> str:
        self.digests_asked += 1
        return "digest of fake"

    async def dtype(self) -> str:
        return "float32"

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        self.calls.append(list(texts))
        if not texts:
            return TextVectors(np.empty((0, len(self.vector_of(""))), dtype=np.float32))
        cut = tuple(position for position, text in enumerate(texts) if len(text) > self.max_chars)
        if cut and not truncate:
            raise TextTooLongError(self.name, cut[0], texts=len(texts), chars=len(texts[cut[0]]))
        if self.delay_s > timeout_s:
            raise LLMTimeoutError(timeout_s)
        await asyncio.sleep(self.delay_s)
        rows = [self.vector_of(text[: self.max_chars]) for text in texts]
        return TextVectors(np.array(rows, dtype=np.float32), cut)
