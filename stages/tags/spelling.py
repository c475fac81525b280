"""How alike two names are spelt."""

import re
from typing import Final

from rapidfuzz.distance import OSA

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


def spelling_score(words: str, others: str, *, ordered: str, others_ordered: str) -> float:
    """The square of the share of characters that need no edit, for the order of words that needs fewer.

    An edit inserts, deletes or replaces a character, or exchanges two neighbours. The square lowers the score of names
    that share half of their characters by chance. `ordered` are the words in alphabetical order.

    >>> spelling_score("brest", "breast", ordered="brest", others_ordered="breast") == (5 / 6) ** 2
    True
    """
    if not words or not others:
        return 0.0
    as_written = OSA.normalized_similarity(words, others)
    return float(max(as_written, OSA.normalized_similarity(ordered, others_ordered)) ** 2)
