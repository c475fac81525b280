"""Stage `embed`: the evidence of each item as one vector (Spec 37)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from stages.ports import Embedder, Vectors
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
) -> EvidenceVectors:
    """Embed the items with at least `min_evidence_chars` characters of evidence, in the order of the questionnaire.

    In batch mode all texts are embedded in one call, otherwise each in its own. Without any such item the embedder is
    not called, and the digest is empty. Vectors are checked, cut and normalised by `unit_rows`, with its errors;
    LLMTimeoutError and other errors of the embedder are raised unchanged.
    """
    texts = {item: evidence_text(extracted.quotes.get(item, ())) for item in PHQ8Item}
    texts = {item: text for item, text in texts.items() if text and len(text) >= min_evidence_chars}
    calls = _calls(list(texts.values()), batch=batch)
    matrices = [
        unit_rows(await embedder.embed_batch(call, timeout_s=timeout_s), rows=len(call), dimension=dimension)
        for call in calls
    ]
    evidence = EmbeddedEvidence(
        model=embedder.name,
        model_digest=await embedder.digest() if texts else "",
        dimension=dimension,
        items=tuple(texts),
        embedding_calls=len(calls),
    )
    return EvidenceVectors(evidence, np.concatenate([np.empty((0, dimension), dtype=np.float32), *matrices]))


def _calls(texts: list[str], *, batch: bool) -> list[list[str]]:
    if not texts:
        return []
    return [texts] if batch else [[text] for text in texts]
