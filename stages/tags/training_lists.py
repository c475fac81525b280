"""Training data of a token model: lists of tags, some of them replaced by an alias."""

import math
from random import Random

from schemas.values.tags import Vocabulary

ALIAS_SHARE = 0.1
"""The share of tags in documents that are replaced by one of their aliases."""

ALIAS_LISTS = 50
"""The number of lists of a tag with all of its aliases."""


def training_lists(
    vocabulary: Vocabulary, *, seed: int, alias_share: float = ALIAS_SHARE, alias_lists: int = ALIAS_LISTS
) -> list[list[str]]:
    """The documents, and each tag with its aliases, in an order set by the seed.

    A document of weight w appears 1 + floor(log2(w)) times, each time with other tags replaced. Every tag and alias is
    in at least one list.
    """
    random = Random(seed)
    aliases: dict[str, list[str]] = {}
    for alias, targets in vocabulary.aliases.items():
        for target in targets:
            aliases.setdefault(target, []).append(alias)
    lists = []
    for document in vocabulary.documents:
        for _ in range(1 + int(math.log2(document.weight))):
            words = [
                random.choice(aliases[name]) if name in aliases and random.random() < alias_share else name
                for name in document.tags
            ]
            random.shuffle(words)
            lists.append(words)
    for tag in vocabulary.tags:
        for _ in range(alias_lists if tag.name in aliases else 1):
            words = [tag.name, *aliases.get(tag.name, ())]
            random.shuffle(words)
            lists.append(words)
    random.shuffle(lists)
    return lists
