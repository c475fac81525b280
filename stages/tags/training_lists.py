"""Training data of a token model: lists of tags, some of them replaced by an alias."""

import math
from random import Random

from schemas.values.tags import Vocabulary

ALIAS_SHARE = 0.1
"""The share of tags in documents that are replaced by one of their aliases."""

ALIAS_LISTS = 50
"""The maximum number of lists of a tag with all of its aliases."""

MAX_WORDS = 400_000
"""About as many words are in all lists together at most, however large the vocabulary is: time grows with words."""


def training_lists(
    vocabulary: Vocabulary,
    *,
    seed: int,
    alias_share: float = ALIAS_SHARE,
    alias_lists: int = ALIAS_LISTS,
    max_words: int = MAX_WORDS,
) -> list[list[str]]:
    """The documents, and each tag with its aliases, in an order set by the seed.

    A document of weight w appears 1 + floor(log2(w)) times, each time with other tags replaced. Every tag and alias is
    in at least one list. Of too many words, half are of lists of aliases, and documents are drawn at random.
    """
    random = Random(seed)
    aliases: dict[str, list[str]] = {}
    for alias, targets in vocabulary.aliases.items():
        for target in targets:
            aliases.setdefault(target, []).append(alias)
    repeated = [document for document in vocabulary.documents for _ in range(1 + int(math.log2(document.weight)))]
    of_documents = sum(len(document.tags) for document in repeated)
    of_aliases = sum(1 + len(others) for others in aliases.values())
    if of_documents + alias_lists * of_aliases > max_words:
        room = max_words - min(of_documents, max_words // 2)
        alias_lists = min(alias_lists, max(1, room // max(1, of_aliases)))
        share = min(1.0, max(0, max_words - alias_lists * of_aliases) / max(1, of_documents))
        repeated = random.sample(repeated, int(share * len(repeated)))
    lists = [
        [
            random.choice(aliases[name]) if name in aliases and random.random() < alias_share else name
            for name in document.tags
        ]
        for document in repeated
    ]
    for tag in vocabulary.tags:
        lists += [[tag.name, *aliases.get(tag.name, ())] for _ in range(alias_lists if tag.name in aliases else 1)]
    for words in lists:
        random.shuffle(words)
    random.shuffle(lists)
    return lists
