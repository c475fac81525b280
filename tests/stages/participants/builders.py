"""Short ways to write the values that participant tests are about."""

from collections.abc import Mapping

from schemas.values.participants import EvidenceExtractor, ExtractedEvidence, PHQ8Item, RankedReferences, Reference
from stages.texts.characters import short_hash


def reference(text: str = "text", *, chunk_id: int = 1, similarity: float = 0.9, score: int | None = 1) -> Reference:
    """A reference to this text; the participant has the number of the chunk."""
    return Reference(
        chunk_id=chunk_id,
        participant_id=chunk_id,
        ordinal=0,
        similarity=similarity,
        score=score,
        chunk_hash=short_hash(text),
        chunk_chars=len(text),
    )


def evidence(quotes: Mapping[PHQ8Item, tuple[str, ...]]) -> ExtractedEvidence:
    """Evidence with these quotes, and none for the other items."""
    return ExtractedEvidence(
        extractor=EvidenceExtractor.LLM, quotes={item: tuple(quotes.get(item, ())) for item in PHQ8Item}
    )


def ranked(items: Mapping[PHQ8Item, tuple[Reference, ...]]) -> RankedReferences:
    """Ranked references, all eight items present."""
    return RankedReferences(ranker="similarity", items={item: items.get(item, ()) for item in PHQ8Item}, dropped={})
