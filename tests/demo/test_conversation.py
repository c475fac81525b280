import random

from demo.conversation import Conversation
from demo.persona import draw_persona
from demo.voice import Voice


def test_the_interviewer_mentions_the_relatives_of_the_participant() -> None:
    rng = random.Random(1)
    persona = draw_persona(rng)
    persona = persona._replace(words={**persona.words, "person": ("my wife",)})
    talk = Conversation(persona, Voice(persona, [""], rng, set()), rng)
    assert talk.asks(["what does {person} say"]) == [("Ellie", "what does your wife say")]
