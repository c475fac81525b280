"""How a score appears in conversation: stated, hedged, retracted, only implied, absent or not at all."""

import random
from enum import Enum, auto

from demo.conversation import Conversation, Turn
from demo.phrasebook import read
from schemas.values.phq8 import PHQ8Item


class Manner(Enum):
    """How one symptom of one participant is mentioned."""

    PLAIN = auto()
    """Asked, and stated with a frequency."""
    HEDGED = auto()
    """Asked, and stated with a frequency, partly retracted."""
    RETRACTED = auto()
    """Asked and denied, then admitted with a frequency."""
    IMPLIED = auto()
    """Not asked; a remark in another topic implies it without a frequency."""
    DENIED = auto()
    """Asked and absent."""
    OVERCOME = auto()
    """Asked and absent now, present in the past."""
    UNMENTIONED = auto()
    """Not mentioned, so that a score has no evidence."""


_PRESENT = {Manner.PLAIN: 45, Manner.HEDGED: 20, Manner.RETRACTED: 12, Manner.IMPLIED: 13, Manner.UNMENTIONED: 10}
_ABSENT = {Manner.DENIED: 45, Manner.OVERCOME: 15, Manner.UNMENTIONED: 40}


def draw_manner(score: int, rng: random.Random) -> Manner:
    """A manner that agrees with the score: 0 is denied, overcome or unmentioned, any other score is present."""
    shares = _PRESENT if score else _ABSENT
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def symptom_turns(talk: Conversation, item: PHQ8Item, score: int, manner: Manner) -> list[Turn]:
    """Question and answer about an item; empty if it is implied or unmentioned."""
    phrases = read(f"items/{item.name.lower()}")
    match manner:
        case Manner.IMPLIED | Manner.UNMENTIONED:
            return []
        case Manner.DENIED:
            return talk.asks(phrases["probes"]) + talk.answers(phrases["fine"], phrases) + talk.comments("glad_words")
        case Manner.OVERCOME:
            return talk.asks(phrases["probes"]) + talk.answers(phrases["before"], phrases)
        case Manner.RETRACTED:
            opening = talk.asks(phrases["probes"]) + talk.answers(phrases["fine"], phrases) + talk.comments("nudges")
            return opening + _admitted(talk, phrases, score, "retracted")
        case Manner.PLAIN | Manner.HEDGED:
            return talk.asks(phrases["probes"]) + _admitted(talk, phrases, score, manner.name.lower())


def implied_turns(talk: Conversation, item: PHQ8Item) -> list[Turn]:
    """A remark that implies an item without its name or a frequency."""
    phrases = read(f"items/{item.name.lower()}")
    return talk.answers(phrases["implied"], phrases)


def _admitted(talk: Conversation, phrases: dict[str, list[str]], score: int, frame: str) -> list[Turn]:
    """The symptom with a frequency that matches the score, and its consequences."""
    words = phrases | {
        "complaint": phrases["mild" if score == 1 else "heavy"],
        "often": phrases.get(f"often_{score}", read("words")[f"often_{score}"]),
    }
    follow_up = talk.asks(phrases["again"]) if score == 1 else talk.comments("kind_words") + talk.asks(phrases["again"])
    consequence = talk.answers(phrases["easy" if score == 1 else "cost"], phrases)
    return talk.answers(read("items/frames")[frame], words) + follow_up + consequence
