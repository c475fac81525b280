"""The utterances of one participant, made from phrases, without repeating those of others."""

import random
from collections.abc import Sequence

from demo.persona import Persona
from demo.phrasebook import Phrases, fill, read

MAX_DRAWS = 60
"""Attempts before a repeated sentence is accepted."""

SHORT_WORDS = 3
"""Utterances of up to this many words may be repeated."""

TAG_SHARE = 0.07
"""Utterances that carry a nonverbal tag."""


class Voice:
    """Speaks for one persona, occasionally with nonverbal tags such as `<laughter>`.

    `said` holds every longer utterance of the data set so far and is added to, so that interviews differ.
    """

    def __init__(self, persona: Persona, tags: Sequence[str], rng: random.Random, said: set[str]) -> None:
        self._persona, self._tags, self._rng, self._said = persona, tags, rng, said
        self._used: set[str] = set()

    def say(self, phrases: Sequence[str], words: Phrases | None = None) -> list[str]:
        """One of the phrases as one utterance or, if it contains ` / `, several.

        A phrase is not taken twice while others are left. `words` fill slots before those of the persona do.
        """
        lists = {**read("words"), **self._persona.words, **(words or {})}
        fresh = [phrase for phrase in phrases if phrase not in self._used] or list(phrases)
        for _ in range(MAX_DRAWS):
            phrase = self._rng.choice(fresh)
            utterances = fill(phrase, lists, self._rng).split(" / ")
            longer = {utterance for utterance in utterances if len(utterance.split()) > SHORT_WORDS}
            if not longer & self._said:
                break
        self._used.add(phrase)
        self._said |= longer
        return [self._delivered(utterance) for utterance in utterances]

    def _delivered(self, utterance: str) -> str:
        words = utterance.split()
        if self._rng.random() < self._persona.hesitation:
            at = self._rng.choice((0, self._rng.randrange(len(words))))
            words.insert(at, self._rng.choice(read("delivery")["hesitations" if at else "openers"]))
        if self._rng.random() < TAG_SHARE:
            words.insert(self._rng.choice((0, len(words))), self._rng.choice(self._tags))
        return " ".join(words)
