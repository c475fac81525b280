"""Stage `embed`: the evidence of each item as one vector (Spec 37), and the chunks of a reference transcript."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from schemas.values.references import EmbeddedChunks
from stages.ports import Embedder, Vectors
from stages.texts.apostrophes import straight_apostrophes
from stages.vectors import unit_rows


class EvidenceVectors(NamedTuple):
    """A description of the evidence, and one vector of length 1 per item, in the order of `evidence.items`."""

    evidence: EmbeddedEvidence
    vectors: Vectors


def evidence_text(quotes: Sequence[str]) -> str:
    """The quotes of an item as the text that is embedded and judged: one quote a line."""
    return "\n".join(quotes)


async def embed_evidence(
    extracted: ExtractedEvidence,
    *,
    embedder: Embedder,
    dimension: int,
    timeout_s: float,
    min_evidence_chars: int,
    batch: bool,
    truncate: bool,
) -> EvidenceVectors:
    """Embed the items with at least `min_evidence_chars` characters of evidence, in the order of the questionnaire.

    In batch mode all texts are embedded in one call, otherwise each in its own. The embedder is given straight
    apostrophes. Without any such item it is not called, and the digest is empty. Vectors are checked, cut and
    normalised by `unit_rows`, with its errors; LLMTimeoutError, TextTooLongError without `truncate`, and other errors
    of the embedder are raised unchanged.
    """
    texts = {item: evidence_text(extracted.quotes.get(item, ())) for item in PHQ8Item}
    texts = {item: text for item, text in texts.items() if text and len(text) >= min_evidence_chars}
    calls = _calls([straight_apostrophes(text) for text in texts.values()], batch=batch)
    embedded = [await embedder.embed_batch(call, timeout_s=timeout_s, truncate=truncate) for call in calls]
    matrices = [
        unit_rows(found.vectors, rows=len(call), dimension=dimension)
        for call, found in zip(calls, embedded, strict=True)
    ]
    starts = np.cumsum([0, *map(len, calls)])
    items = tuple(texts)
    cut = tuple(items[start + at] for start, found in zip(starts, embedded, strict=False) for at in found.cut)
    evidence = EmbeddedEvidence(
        model=embedder.name,
        model_digest=await embedder.digest() if texts else "",
        dtype=await embedder.dtype() if texts else "",
        dimension=dimension,
        items=items,
        embedding_calls=len(calls),
        cut_texts=len(cut),
        cut_items=cut,
        reused_texts=sum(found.reused for found in embedded),
    )
    return EvidenceVectors(evidence, np.concatenate([np.empty((0, dimension), dtype=np.float32), *matrices]))


async def embed_chunks(
    texts: Sequence[str], *, embedder: Embedder, dimension: int, timeout_s: float, truncate: bool
) -> tuple[EmbeddedChunks, Vectors]:
    """One row of length 1 per chunk of a transcript, in one call. Raises as `embed_evidence` does."""
    said = [straight_apostrophes(text) for text in texts]
    found = await embedder.embed_batch(said, timeout_s=timeout_s, truncate=truncate)
    vectors = unit_rows(found.vectors, rows=len(texts), dimension=dimension)
    embedded = EmbeddedChunks(
        model=embedder.name,
        model_digest=await embedder.digest(),
        dimension=dimension,
        vectors=len(vectors),
        cut_texts=len(found.cut),
        cut=found.cut,
        dtype=await embedder.dtype(),
        reused_texts=found.reused,
    )
    return embedded, vectors


def _calls(texts: list[str], *, batch: bool) -> list[list[str]]:
    if not texts:
        return []
    return [texts] if batch else [[text] for text in texts]
