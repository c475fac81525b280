"""The persona of a synthetic participant."""

import random
from typing import NamedTuple

from demo.phrasebook import Phrases, read


class Persona(NamedTuple):
    """A person: the words for the slots of phrases, and the manner of speaking."""

    words: Phrases
    """One word or phrase per slot: `{job}`, `{person}`, `{hobby}` and the others of phrases/personas.toml."""
    hesitation: float
    """The probability of a hesitation in an utterance, 0.05..0.45."""
    talkativeness: float
    """The probability that an answer continues after the first nudge, 0.2..0.8."""


def draw_persona(rng: random.Random) -> Persona:
    """A person with work, people, places and pastimes that are constant in an interview."""
    lists = read("personas")
    hobby, second = rng.sample(lists["hobbies"], 2)
    person = {
        **rng.choice(lists["jobs"]),
        **hobby,
        "second_hobby": second["hobby"],
        **rng.choice(lists["homes"]),
        **rng.choice(lists["trips"]),
        "person": rng.choice(lists["people"]),
        "relative": rng.choice(lists["relatives"]),
        "dish": rng.choice(lists["dishes"]),
        "pet": rng.choice(lists["pets"]),
        "worry": rng.choice(lists["worries"]),
        "years": rng.choice(lists["years"]),
    }
    return Persona(
        words={slot: (word,) for slot, word in person.items()},
        hesitation=0.05 + 0.4 * rng.random(),
        talkativeness=0.2 + 0.6 * rng.random(),
    )
