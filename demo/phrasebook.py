"""The phrases of interviews, and the filling of their {slots}."""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

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
