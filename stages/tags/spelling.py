"""How alike two names are spelt."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

_BETWEEN_WORDS: Final = re.compile(r"[\s_,;:/'\"()\-\u2010-\u2015]+")


def plain(name: str) -> str:
    """The words of a name in lower case, with single spaces between them and no punctuation that only divides words.

    >>> plain("Heart,_Diseases_of"), plain("c++"), plain("3d-printing")
    ('heart diseases of', 'c++', '3d printing')
    """
    return " ".join(_BETWEEN_WORDS.sub(" ", name.lower()).split())


def in_any_order(words: str) -> str:
    """The words in alphabetical order, so that an inverted heading is spelt as the plain one.

    >>> in_any_order("heart diseases of") == in_any_order("diseases of heart")
    True
    """
    return " ".join(sorted(words.split()))


def spelling_scores(
    words: str, others: Sequence[str], *, ordered: str, others_ordered: Sequence[str]
) -> NDArray[np.float64]:
    """The square of the share of characters that need no edit, for the order of words that needs fewer.

    An edit inserts, deletes or replaces a character, or exchanges two neighbours. The square lowers the score of names
    that share half of their characters by chance. `ordered` are the words in alphabetical order.

    >>> spelling_scores("brest", ["breast", ""], ordered="brest", others_ordered=["breast", ""]).round(4).tolist()
    [0.6944, 0.0]
    """
    as_written = _unedited(words, others)
    return np.asarray(np.maximum(as_written, _unedited(ordered, others_ordered)) ** 2)


def _unedited(words: str, others: Sequence[str]) -> NDArray[np.float64]:
    if not words:
        return np.zeros(len(others))
    return np.asarray(cdist([words], others, scorer=OSA.normalized_similarity, dtype=np.float64)[0])
