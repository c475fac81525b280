"""One synthetic interview: small talk, a life, and the eight symptoms."""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from schemas.values.participants import PHQ8Item

Phrases = Mapping[str, Sequence[str]]
"""Alternatives by name. A `{name}` inside a phrase stands for any one of them."""

_SLOT = re.compile(r"\{(\w+)\}")


@cache
def read(name: str) -> dict[str, Any]:
    """A file of phrases as written, e.g. `items/sleep`."""
    return tomllib.loads((resources.files("demo") / "phrases" / f"{name}.toml").read_text("utf-8"))


def fill(phrase: str, words: Phrases, rng: random.Random) -> str:
    """The phrase with every slot filled, including slots in the fillings. Raises KeyError for unknown slots.

    >>> fill("{who} made {what}", {"who": ["i"], "what": ["a {size} cake"], "size": ["small"]}, random.Random(1))
    'i made a small cake'
    """
    return _SLOT.sub(lambda slot: fill(rng.choice(words[slot[1]]), words, rng), phrase)


MAX_DRAWS = 60
"""Attempts before a repeated sentence is accepted."""

SHORT_WORDS = 3
"""Utterances of up to this many words may be repeated."""

TAG_SHARE = 0.07
"""Utterances that carry a nonverbal tag such as `<laughter>`."""

SHORT_ANSWER_SHARE = 0.12
"""Answers that begin with a turn such as `yeah`."""

Turn = tuple[str, str]
"""Speaker and utterance."""


class Conversation:
    """The utterances of one interview with a person whose work, people, places and pastimes are constant in it. Each
    method returns the next turns. `said` holds every longer utterance of the data set so far, so that interviews
    differ."""

    def __init__(self, tags: Sequence[str], rng: random.Random, said: set[str]) -> None:
        self._tags, self._rng, self._said = tags, rng, said
        self._used: set[str] = set()
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
        self._words = {**read("words"), **{slot: (word,) for slot, word in person.items()}}
        # The interviewer says `your sister` for the participant's `my sister`.
        yours = {slot: (re.sub(r"\bmy\b", "your", word),) for slot, word in person.items()}
        self._interviewer_words: Phrases = {**read("words"), **yours}
        self._hesitation = 0.05 + 0.4 * rng.random()
        self._talkativeness = 0.2 + 0.6 * rng.random()

    def asks(self, questions: Sequence[str]) -> list[Turn]:
        """One of the questions."""
        return [("Ellie", fill(self._rng.choice(questions), self._interviewer_words, self._rng))]

    def comments(self, sort: str) -> list[Turn]:
        """One of the interviewer's own phrases: `nudges`, `bridges`, `kind_words` and so on."""
        return self.asks(read("ellie")[sort])

    def answers(self, phrases: Sequence[str], words: Phrases | None = None) -> list[Turn]:
        """One of the phrases, as one turn or, if it contains ` / `, several. `words` fill slots before the
        participant's do."""
        lists = {**self._words, **(words or {})}
        fresh = [phrase for phrase in phrases if phrase not in self._used] or list(phrases)
        for _ in range(MAX_DRAWS):
            phrase = self._rng.choice(fresh)
            drawn = fill(phrase, lists, self._rng).split(" / ")
            longer = {utterance for utterance in drawn if len(utterance.split()) > SHORT_WORDS}
            if not longer & self._said:
                break
        self._used.add(phrase)
        self._said |= longer
        utterances = [self._delivered(utterance) for utterance in drawn]
        if self._rng.random() < SHORT_ANSWER_SHARE:
            utterances.insert(0, self._rng.choice(read("delivery")["short_answers"]))
        return [("Participant", utterance) for utterance in utterances]

    def goes_on(self) -> bool:
        """Whether the participant has more to say."""
        return self._rng.random() < self._talkativeness

    def _delivered(self, utterance: str) -> str:
        words = utterance.split()
        if self._rng.random() < self._hesitation:
            at = self._rng.choice((0, self._rng.randrange(len(words))))
            words.insert(at, self._rng.choice(read("delivery")["hesitations" if at else "openers"]))
        if self._rng.random() < TAG_SHARE:
            words.insert(self._rng.choice((0, len(words))), self._rng.choice(self._tags))
        return " ".join(words)


_PRESENT = {"plain": 45, "hedged": 20, "retracted": 12, "implied": 13, "unmentioned": 10}
"""How a symptom is mentioned, in percent: asked, and stated with a frequency; the same, partly taken back; asked and
denied, then admitted with a frequency; a remark in another topic implies it without one; not at all."""
_ABSENT = {"denied": 45, "overcome": 15, "unmentioned": 40}
"""The same of a symptom that the participant has not: asked and absent; asked, absent now and present in the past."""


def draw_manner(score: int, rng: random.Random) -> str:
    """How a symptom of this score is mentioned."""
    shares = _PRESENT if score else _ABSENT
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def symptom_turns(talk: Conversation, item: PHQ8Item, score: int, manner: str) -> list[Turn]:
    """Question and answer about an item; empty if it is implied or unmentioned."""
    phrases = read(f"items/{item.name.lower()}")
    match manner:
        case "denied":
            return talk.asks(phrases["probes"]) + talk.answers(phrases["fine"], phrases) + talk.comments("glad_words")
        case "overcome":
            return talk.asks(phrases["probes"]) + talk.answers(phrases["before"], phrases)
        case "retracted":
            opening = talk.asks(phrases["probes"]) + talk.answers(phrases["fine"], phrases) + talk.comments("nudges")
            return opening + _admitted(talk, phrases, score, manner)
        case "plain" | "hedged":
            return talk.asks(phrases["probes"]) + _admitted(talk, phrases, score, manner)
    return []


def _admitted(talk: Conversation, phrases: dict[str, list[str]], score: int, frame: str) -> list[Turn]:
    """The symptom with a frequency that matches the score, and its consequences."""
    words = phrases | {
        "complaint": phrases["mild" if score == 1 else "heavy"],
        "often": phrases.get(f"often_{score}", read("words")[f"often_{score}"]),
    }
    follow_up = talk.asks(phrases["again"]) if score == 1 else talk.comments("kind_words") + talk.asks(phrases["again"])
    consequence = talk.answers(phrases["easy" if score == 1 else "cost"], phrases)
    return talk.answers(read("items/frames")[frame], words) + follow_up + consequence


TOPICS = ("work", "family", "places", "travel", "pastimes", "past", "character")


def topic_turns(talk: Conversation, angle: Mapping[str, Sequence[str]], words: Phrases) -> list[Turn]:
    """A question about one side of a topic, its answer, and one or two further exchanges."""
    turns = talk.asks(angle["ask"]) + talk.answers(angle["answer"], words)
    turns += talk.comments("nudges") + talk.answers(angle["more"], words)
    if talk.goes_on():
        turns += talk.answers(angle["more"], words)
    return turns + (talk.comments("bridges") if talk.goes_on() else [])


SHORTEST, LONGEST = 60, 200
"""Turns of an interview. Short ones are more frequent: the mean is near 100."""

LOW_FROM = 10
"""The score from which the participant sighs more than laughs."""


def hold_interview(scores: Mapping[PHQ8Item, int], *, rng: random.Random, said: set[str]) -> list[Turn]:
    """The turns of an interview that agrees with the scores: a score of 0 is denied or does not come up; any other is
    said with a frequency that means it, or is implied without one, or does not come up. `said` grows by what is said.
    """
    tags = read("delivery")["heavy_tags" if sum(scores.values()) >= LOW_FROM else "light_tags"]
    talk = Conversation(tags, rng, said)
    manners = {item: draw_manner(score, rng) for item, score in scores.items()}
    symptoms = [symptom_turns(talk, item, scores[item], manner) for item, manner in manners.items()]
    implied = [read(f"items/{item.name.lower()}") for item, manner in manners.items() if manner == "implied"]
    remarks = [talk.answers(phrases["implied"], phrases) for phrases in implied]
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
    topics = [read(f"topics/{name}") for name in TOPICS]
    drawn = [(topic[side], topic.get("words", {})) for topic in topics for side in topic if side != "words"]
    rng.shuffle(drawn)
    blocks = [topic_turns(talk, *drawn.pop())]
    while drawn and sum(map(len, blocks)) < at_least:
        blocks.append(topic_turns(talk, *drawn.pop()))
    return blocks
