"""The passages of a transcript around quotes."""

from collections.abc import Mapping
from itertools import groupby

from schemas.values.phq8 import PHQ8Item


def passages_of(transcript: str, quotes: Mapping[PHQ8Item, tuple[str, ...]]) -> dict[PHQ8Item, str]:
    """Per item with quotes, what the speaker of each quote said in that turn, or the quote itself if no line has it.

    Lines of a turn are joined by a slash, turns by dots; a turn with two quotes occurs once. How often a problem comes
    is often said in the line after the quote.

    >>> said = "Participant: i lie awake\\nParticipant: most nights\\nEllie: i see"
    >>> passages_of(said, {PHQ8Item.SLEEP: ("i lie awake",), PHQ8Item.TIRED: ()})
    {<PHQ8Item.SLEEP: 'Sleep'>: 'i lie awake / most nights'}
    """
    lines = [line.partition(":") for line in transcript.split("\n")]
    turns = [[text.strip() for _, _, text in turn] for _, turn in groupby(lines, key=lambda line: line[0])]

    def around(quote: str) -> str:
        return next((" / ".join(turn) for turn in turns if any(quote in text for text in turn)), quote)

    return {item: " ... ".join(dict.fromkeys(map(around, of_item))) for item, of_item in quotes.items() if of_item}
