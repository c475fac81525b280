"""Stage `extract` without a language model: the utterances nearest to how people describe each symptom."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from schemas.errors import TranscriptError
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from stages.participants.retrieve import similarities
from stages.participants.transcripts import refuse_blank, utterances_of
from stages.ports import Embedder, Vectors
from stages.texts.characters import straight_apostrophes
from stages.vectors import unit_rows

DESCRIPTIONS: Mapping[PHQ8Item, tuple[str, ...]] = {
    PHQ8Item.NO_INTEREST: (
        "I don't enjoy the things I used to like.",
        "I have lost interest in my hobbies.",
        "Nothing is fun anymore.",
        "I don't feel like doing anything.",
        "I can't be bothered to go out or see friends.",
        "My hobbies just lie around untouched.",
        "I still enjoy my hobbies.",
        "I look forward to things.",
    ),
    PHQ8Item.DEPRESSED: (
        "I feel sad and down.",
        "Everything seems hopeless.",
        "I am depressed.",
        "I cry a lot.",
        "I feel empty and miserable.",
        "I don't see things getting better.",
        "My mood is good, I feel happy.",
        "I am not sad.",
    ),
    PHQ8Item.SLEEP: (
        "I can't fall asleep at night.",
        "I wake up in the middle of the night and lie awake.",
        "I wake up far too early.",
        "I sleep too much, even during the day.",
        "My sleep is bad.",
        "I only get a few hours of sleep.",
        "I sleep well through the night.",
        "I sleep eight hours without trouble.",
    ),
    PHQ8Item.TIRED: (
        "I am tired all the time.",
        "I have no energy.",
        "Small tasks wear me out.",
        "I am exhausted when I come home.",
        "I feel drained and worn out.",
        "I have to lie down and rest.",
        "I have plenty of energy.",
        "I don't feel tired.",
    ),
    PHQ8Item.APPETITE: (
        "I have no appetite.",
        "I hardly eat and skip meals.",
        "I overeat and snack all day.",
        "I eat when I am not hungry.",
        "I have lost or gained weight.",
        "Food has no taste for me.",
        "My appetite is normal.",
        "I eat regular meals.",
    ),
    PHQ8Item.FAILURE: (
        "I feel like a failure.",
        "I have let my family down.",
        "I feel worthless.",
        "I blame myself for everything.",
        "I am not good enough.",
        "I am ashamed of myself.",
        "I feel good about myself.",
        "I am proud of what I do.",
    ),
    PHQ8Item.CONCENTRATING: (
        "I can't concentrate on anything.",
        "I read the same page again and again.",
        "My mind wanders.",
        "I forget what I was doing.",
        "I can't follow a film or a conversation.",
        "I make mistakes because I am distracted.",
        "I can focus without trouble.",
        "My concentration is fine.",
    ),
    PHQ8Item.MOVING: (
        "I can't sit still.",
        "I fidget and pace around.",
        "I am restless and jumpy.",
        "I move more slowly than I used to.",
        "I speak so slowly that people notice.",
        "My body feels heavy and slow.",
        "I am calm and can sit still.",
        "Nobody says that I am slow or restless.",
    ),
}
"""Sentences per item, in the questionnaire's order; the last two of each state that the symptom is absent."""


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
