"""An interviewer and a participant, turn by turn."""

import random
import re
from collections.abc import Sequence

from demo.persona import Persona
from demo.phrasebook import Phrases, fill, read
from demo.voice import Voice

Turn = tuple[str, str]
"""Speaker and utterance."""

SHORT_ANSWER_SHARE = 0.12
"""Answers that begin with a turn such as `yeah`."""


class Conversation:
    """The utterances of one interview. Each method returns the next turns; the caller orders them."""

    def __init__(self, persona: Persona, voice: Voice, rng: random.Random) -> None:
        self._persona, self._voice, self._rng = persona, voice, rng
        # The interviewer says `your sister` for the participant's `my sister`.
        yours = {slot: [re.sub(r"\bmy\b", "your", word) for word in words] for slot, words in persona.words.items()}
        self._interviewer_words: Phrases = {**read("words"), **yours}

    def asks(self, questions: Sequence[str]) -> list[Turn]:
        """One of the questions."""
        return [("Ellie", fill(self._rng.choice(questions), self._interviewer_words, self._rng))]

    def comments(self, sort: str) -> list[Turn]:
        """One of the interviewer's own phrases: `nudges`, `bridges`, `kind_words` and so on."""
        return self.asks(read("ellie")[sort])

    def answers(self, phrases: Sequence[str], words: Phrases | None = None) -> list[Turn]:
        """One of the phrases in the participant's words, as one turn or several."""
        utterances = self._voice.say(phrases, words)
        if self._rng.random() < SHORT_ANSWER_SHARE:
            utterances = [self._rng.choice(read("delivery")["short_answers"]), *utterances]
        return [("Participant", utterance) for utterance in utterances]

    def goes_on(self) -> bool:
        """Whether the participant has more to say."""
        return self._rng.random() < self._persona.talkativeness
