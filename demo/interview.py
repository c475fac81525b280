"""One synthetic interview: small talk, a life, and the eight symptoms."""

import random
from collections.abc import Mapping

from demo.conversation import Conversation, Turn
from demo.persona import draw_persona
from demo.phrasebook import read
from demo.symptom_talk import Manner, draw_manner, implied_turns, symptom_turns
from demo.topic_talk import angles, topic_turns
from demo.voice import Voice
from schemas.values.phq8 import PHQ8Item

SHORTEST, LONGEST = 60, 200
"""Turns of an interview. Short ones are more frequent: the mean is near 100."""

LOW_FROM = 10
"""The score from which the participant sighs more than laughs."""


def hold_interview(scores: Mapping[PHQ8Item, int], *, rng: random.Random, said: set[str]) -> list[Turn]:
    """The turns of an interview that agrees with the scores.

    A score of 0 is denied or does not come up. Any other is said with a frequency that means it, or is implied
    without one, or does not come up. `said` is what earlier participants said; it is added to.
    """
    persona = draw_persona(rng)
    tags = read("delivery")["heavy_tags" if sum(scores.values()) >= LOW_FROM else "light_tags"]
    talk = Conversation(persona, Voice(persona, tags, rng, said), rng)
    manners = {item: draw_manner(score, rng) for item, score in scores.items()}
    symptoms = [symptom_turns(talk, item, scores[item], manner) for item, manner in manners.items()]
    remarks = [implied_turns(talk, item) for item, manner in manners.items() if manner is Manner.IMPLIED]
    opening, closing = _opening(talk), _closing(talk)
    length = SHORTEST + int((LONGEST - SHORTEST) * min(rng.random() for _ in range(3)))
    missing = length - sum(map(len, (opening, closing, *symptoms, *remarks)))
    topics = _topics(talk, rng, at_least=missing)
    for remark in remarks:
        rng.choice(topics).extend(remark)
    first, *others = topics
    blocks = others + symptoms
    rng.shuffle(blocks)
    return [turn for block in (opening, first, *blocks, closing) for turn in block]


def _opening(talk: Conversation) -> list[Turn]:
    answer = talk.answers(read("topics/opening")["answer"])
    return [
        *talk.comments("greetings"),
        ("Participant", "hi"),
        *talk.comments("consents"),
        ("Participant", "sure"),
        *talk.comments("small_talk"),
        *answer,
    ]


def _closing(talk: Conversation) -> list[Turn]:
    answer = talk.answers(read("topics/opening")["closing"])
    return [*talk.comments("closings"), *answer, *talk.comments("farewells")]


def _topics(talk: Conversation, rng: random.Random, *, at_least: int) -> list[list[Turn]]:
    """Topics in a random order until they have this many turns together; at least one, each at most once."""
    drawn = angles()
    rng.shuffle(drawn)
    blocks = [topic_turns(talk, drawn.pop())]
    while drawn and sum(map(len, blocks)) < at_least:
        blocks.append(topic_turns(talk, drawn.pop()))
    return blocks
