"""A vocabulary that is small enough to train on in a test."""

from schemas.values.tags import Tag, Vocabulary

CLOTHES = Vocabulary(
    tags=tuple(
        Tag(name=name, count=5) for name in ("shirt", "trousers", "hat", "coat", "apple", "pear", "plum", "fig")
    ),
    aliases={"tshirt": ("shirt",), "trouser": ("trousers",), "overcoat": ("coat",), "apples": ("apple",)},
    documents=(
        (("shirt", "trousers"), 9),
        (("shirt", "hat"), 5),
        (("hat", "coat"), 4),
        (("trousers", "coat"), 3),
        (("apple", "pear"), 9),
        (("apple", "plum"), 5),
        (("pear", "plum"), 4),
    ),
)
"""Clothes and fruit, which never occur together; a fig occurs with nothing."""
