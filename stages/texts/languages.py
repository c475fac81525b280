"""The language of a text, by its most frequent words, or by its letters."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Final

from schemas.full_text import ENGLISH, SIMPLE


@cache
def _function_words() -> dict[str, frozenset[str]]:
    """About twenty of each language; Chinese, Japanese, Korean and Thai are known by their letters."""
    text = (resources.files("stages.texts") / "function_words.toml").read_text("utf-8")
    return {language: frozenset(words.split()) for language, words in tomllib.loads(text).items()}


READ_CHARS: Final = 200_000
"""Of all texts together."""

_READ_OF_ONE: Final = 20_000
_FEW_WORDS: Final = 20
"""Of fewer words the language is not doubted: without a frequent word of any language they are English."""
_LEAST_SHARE: Final = 0.08
"""Of the words of a text that are frequent words of its language."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = {
    "japanese": re.compile(r"[\u3040-\u30ff]"),
    "korean": re.compile(r"[\uac00-\ud7af]"),
    "thai": re.compile(r"[\u0e01-\u0e5b]"),
    "chinese": re.compile(r"[\u4e00-\u9fff]"),
}
_LAST_LATIN: Final = "\u024f"
"""Letters after it are of another alphabet than English has."""
_LEAST_LETTERS: Final = 0.1
"""Of the characters of words: Japanese has Chinese characters too, and is looked for first."""


def language_of(texts: Iterable[str]) -> str:
    """The language that texts have in common; `simple` for one that is not known. The beginnings of the texts are read,
    in time that is linear in their length. The same texts have the same language.

    >>> language_of(["Die Blätter werden nach der Ernte gerollt."]), language_of(["Tea."])
    ('german', 'english')
    """
    words: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    left = READ_CHARS
    for text in texts:
        read = text[: min(left, _READ_OF_ONE)]
        left -= len(read)
        words.update(word.lower() for word in _WORD.findall(read))
        letters.update({language: len(pattern.findall(read)) for language, pattern in _LETTERS.items()})
        if not left:
            break
    characters = sum(len(word) * times for word, times in words.items())
    for language in _LETTERS:
        if characters and letters[language] >= _LEAST_LETTERS * characters:
            return language
    known = {name: sum(words[word] for word in frequent) for name, frequent in _function_words().items()}
    best = max(sorted(known), key=lambda name: (known[name], name == ENGLISH))
    if known[best] >= max(_LEAST_SHARE * words.total(), 1):
        return best
    is_foreign = any(letter > _LAST_LATIN for word in words for letter in word)
    return ENGLISH if words.total() < _FEW_WORDS and not is_foreign else SIMPLE
