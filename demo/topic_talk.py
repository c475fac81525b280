"""Talk about a life: work, family, places, travel, pastimes, the past and character."""

from collections.abc import Sequence
from typing import NamedTuple

from demo.conversation import Conversation, Turn
from demo.phrasebook import Phrases, read

TOPICS = ("work", "family", "places", "travel", "pastimes", "past", "character")


class Angle(NamedTuple):
    """One side of a topic."""

    ask: Sequence[str]
    answer: Sequence[str]
    more: Sequence[str]
    words: Phrases
    """Words of the topic."""


def angles() -> list[Angle]:
    """Every side of every topic, in the order of the files."""
    return [
        Angle(part["ask"], part["answer"], part["more"], topic.get("words", {}))
        for topic in (read(f"topics/{name}") for name in TOPICS)
        for name, part in topic.items()
        if name != "words"
    ]


def topic_turns(talk: Conversation, angle: Angle) -> list[Turn]:
    """A question, its answer, and one or two further exchanges."""
    turns = talk.asks(angle.ask) + talk.answers(angle.answer, angle.words)
    turns += talk.comments("nudges") + talk.answers(angle.more, angle.words)
    if talk.goes_on():
        turns += talk.answers(angle.more, angle.words)
    return turns + (talk.comments("bridges") if talk.goes_on() else [])
