import random

from demo.persona import Persona
from demo.voice import Voice

QUIET = Persona(words={"pet": ("the cat",)}, hesitation=0.0, talkativeness=0.5)


def voice(used: set[str]) -> Voice:
    return Voice(QUIET, [""], random.Random(1), used)


def test_a_slash_makes_two_utterances() -> None:
    assert [text.strip() for text in voice(set()).say(["i came / {pet} stayed"])] == ["i came", "the cat stayed"]


def test_a_used_phrase_of_another_speaker_is_not_repeated() -> None:
    used = {"i went home with the cat"}
    spoken = voice(used).say(["i went home with {pet}", "i stayed there with {pet}"])
    assert [text.strip() for text in spoken] == ["i stayed there with the cat"]
    assert used == {"i went home with the cat", "i stayed there with the cat"}


def test_short_utterances_may_repeat() -> None:
    used = {"oh well then"}
    assert [text.strip() for text in voice(used).say(["oh well then"])] == ["oh well then"]


def test_a_phrase_is_repeated_only_when_the_others_are_used_up() -> None:
    speaker = voice(set())
    assert sorted(speaker.say(["yes", "no"])[0].strip() for _ in range(2)) == ["no", "yes"]


def test_given_words_override_those_of_the_persona() -> None:
    assert [text.strip() for text in voice(set()).say(["it was {pet}"], {"pet": ["a dog"]})] == ["it was a dog"]
