import random
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

import pytest

from demo.phrasebook import fill, read
from demo.topic_talk import TOPICS
from schemas.values.phq8 import PHQ8Item

SYMPTOM_LISTS = {"probes": 6, "again": 4, "fine": 12, "before": 4, "mild": 12, "heavy": 16, "cost": 8, "easy": 6}


def names(folder: Traversable, prefix: str = "") -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from names(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name.removesuffix(".toml")


def phrases_in(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from phrases_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from phrases_in(value)


NAMES = sorted(names(resources.files("demo") / "phrases"))


def test_every_topic_and_item_has_a_file() -> None:
    topics = {f"topics/{topic}" for topic in (*TOPICS, "opening")}
    items = {f"items/{item.name.lower()}" for item in PHQ8Item}
    assert set(NAMES) == topics | items | {"items/frames", "words", "personas", "delivery", "ellie"}


@pytest.mark.parametrize("name", NAMES)
def test_phrases_are_written_as_transcripts_are(name: str) -> None:
    odd = [phrase for phrase in phrases_in(read(name)) if not re.fullmatch(r"[a-z0-9' {}_/<>]+", phrase)]
    assert odd == []


@pytest.mark.parametrize("name", NAMES)
def test_no_phrase_is_twice_in_a_file(name: str) -> None:
    phrases = [phrase for phrase in phrases_in(read(name)) if len(phrase.split()) > 3]
    assert len(phrases) == len(set(phrases))


@pytest.mark.parametrize("item", PHQ8Item)
def test_every_item_has_phrases_for_every_level(item: PHQ8Item) -> None:
    phrases = read(f"items/{item.name.lower()}")
    assert {name: len(phrases[name]) >= least for name, least in SYMPTOM_LISTS.items()} == dict.fromkeys(
        SYMPTOM_LISTS, True
    )


def test_an_unknown_slot_is_an_error() -> None:
    with pytest.raises(KeyError, match="nobody"):
        fill("ask {nobody}", {}, random.Random(1))
