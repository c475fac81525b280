"""Stage `extract` by similarity to descriptions of the items."""

from collections.abc import Sequence

import pytest

from schemas.errors import TextTooLongError
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence, PHQ8Item
from stages.participants.extract import DESCRIPTIONS
from tests.fakes.embedder import FakeEmbedder
from tests.stages.at_defaults import extract_by_similarity

UTTERANCES = {
    "awake all night": [1, 0, 0],  # similarity to sleep: 1
    "sleep is bad": [4, 3, 0],  # cosine .8, similarity .9
    "I hardly sleep": [4, 0, 3],  # the same
    "it was raining": [0, 1, 0],  # 0.5
}
TRANSCRIPT = "Ellie: hello\n" + "\n".join(
    f"Participant: {text}"
    for text in ["it was raining", "sleep is bad", "I hardly sleep", "awake all night", "sleep is bad"]
)


def sleep_vectors(text: str) -> Sequence[float]:
    if text in UTTERANCES:
        return UTTERANCES[text]
    return [1, 0, 0] if text in DESCRIPTIONS[PHQ8Item.SLEEP] else [-1, 0, 0]


async def sleep_quotes(**arguments: float) -> tuple[str, ...]:
    embedder = FakeEmbedder(sleep_vectors)
    evidence = await extract_by_similarity(TRANSCRIPT, embedder=embedder, timeout_s=9, **arguments)  # type: ignore[arg-type]
    return evidence.quotes[PHQ8Item.SLEEP]


@pytest.mark.parametrize(
    ("threshold", "max_quotes", "quotes"),
    [
        (0.95, 3, ("awake all night",)),
        (0.85, 3, ("sleep is bad", "I hardly sleep", "awake all night")),  # in the order of the transcript
        (0.85, 2, ("sleep is bad", "awake all night")),  # of two equal ones the earlier
        (0.85, 1, ("awake all night",)),
        (0.5, 9, ("it was raining", "sleep is bad", "I hardly sleep", "awake all night")),
        (1.0, 3, ("awake all night",)),
    ],
)
async def test_the_most_similar_utterances_are_quoted(threshold: float, max_quotes: int, quotes: tuple[str]) -> None:
    assert await sleep_quotes(threshold=threshold, max_quotes=max_quotes) == quotes


async def test_all_items_are_answered_by_one_call_about_the_participants_utterances() -> None:
    embedder = FakeEmbedder(sleep_vectors)

    evidence = await extract_by_similarity(TRANSCRIPT, embedder=embedder, timeout_s=9, threshold=0.95)

    assert evidence == ExtractedEvidence(
        extractor=EvidenceExtractor.SIMILARITY,
        quotes={item: ("awake all night",) if item is PHQ8Item.SLEEP else () for item in PHQ8Item},
    )
    described = [text for item in PHQ8Item for text in DESCRIPTIONS[item]]
    utterances = ["it was raining", "sleep is bad", "I hardly sleep", "awake all night"]
    assert embedder.calls == [described + utterances]


async def test_quotes_stay_as_they_were_said_while_the_embedder_reads_straight_apostrophes() -> None:
    embedder = FakeEmbedder(lambda text: [1.0, 0.0])

    found = await extract_by_similarity("Participant: I can’t sleep", embedder=embedder, timeout_s=9)

    assert embedder.calls[0][-1] == "I can't sleep"
    assert found.quotes[PHQ8Item.SLEEP] == ("I can’t sleep",)


async def test_utterances_that_are_longer_than_the_embedder_reads_are_refused_or_cut_and_counted() -> None:
    embedder = FakeEmbedder(lambda text: [1.0, 0.0], max_chars=200)
    transcript = f"Participant: well\nParticipant: {'so I said ' * 30}"

    with pytest.raises(TextTooLongError):
        await extract_by_similarity(transcript, embedder=embedder, timeout_s=9)
    found = await extract_by_similarity(transcript, embedder=embedder, timeout_s=9, truncate=True)

    assert found.cut_texts == 1
