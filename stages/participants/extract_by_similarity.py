"""Stage `extract` without a language model: the utterances nearest to how people describe each symptom."""

import numpy as np
from numpy.typing import NDArray

from schemas.errors import TranscriptError
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from stages.participants.item_descriptions import DESCRIPTIONS
from stages.participants.similarity import similarities
from stages.participants.transcript_text import refuse_blank, utterances_of
from stages.ports import Embedder, Vectors
from stages.texts.apostrophes import straight_apostrophes
from stages.vectors import unit_rows


async def extract_by_similarity(
    transcript: str,
    *,
    embedder: Embedder,
    timeout_s: float,
    threshold: float,
    max_quotes: int,
    truncate: bool,
    speaker: str = "Participant",
) -> ExtractedEvidence:
    """Quote, per item, up to `max_quotes` utterances of the speaker whose similarity to the item is >= `threshold`.

    The similarity of an utterance to an item, (1 + cosine) / 2, is that to the nearest description of the item. The
    most similar utterances are quoted, of equal ones the earlier, in the order of the transcript; repeated utterances
    count once. All texts are embedded in one call, with straight apostrophes; quotes stay as they were said.

    Raises EmptyTranscriptError for a blank transcript, TranscriptError when no line is the speaker's, TextTooLongError
    without `truncate`, and other errors of the embedder.
    """
    refuse_blank(transcript)
    utterances = utterances_of(speaker, transcript)
    if not utterances:
        raise TranscriptError(
            f"No line of the transcript starts with '{speaker}:'; name the speaker as the transcript does."
        )
    descriptions = [(item, text) for item in PHQ8Item for text in DESCRIPTIONS[item]]
    texts = [straight_apostrophes(text) for text in [*(text for _, text in descriptions), *utterances]]
    matrix, cut, _ = await embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
    rows = unit_rows(matrix, rows=len(texts))
    described, said = rows[: len(descriptions)], rows[len(descriptions) :]

    quotes = {}
    for item in PHQ8Item:
        of_item = [described[at] for at, (described_item, _) in enumerate(descriptions) if described_item is item]
        chosen = _nearest(_similarity_to_any(said, of_item), threshold=threshold, limit=max_quotes)
        quotes[item] = tuple(utterances[at] for at in chosen)
    return ExtractedEvidence(extractor=EvidenceExtractor.SIMILARITY, quotes=quotes, cut_texts=len(cut))


def _similarity_to_any(said: Vectors, described: list[NDArray[np.float32]]) -> NDArray[np.float64]:
    nearest: NDArray[np.float64] = np.max([similarities(said, description) for description in described], axis=0)
    return nearest


def _nearest(similarity: NDArray[np.float64], *, threshold: float, limit: int) -> list[int]:
    ranked = sorted(range(len(similarity)), key=lambda at: (-similarity[at], at))
    return sorted(at for at in ranked[:limit] if similarity[at] >= threshold)
