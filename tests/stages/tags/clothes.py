"""A vocabulary that is small enough to train on in a test."""

from schemas.values.tags import Tag, TagDocument, Vocabulary

CLOTHES = Vocabulary(
    tags=tuple(
        Tag(name=name, count=5) for name in ("shirt", "trousers", "hat", "coat", "apple", "pear", "plum", "fig")
    ),
    aliases={"tshirt": ("shirt",), "trouser": ("trousers",), "overcoat": ("coat",), "apples": ("apple",)},
    documents=(
        TagDocument(tags=("shirt", "trousers"), weight=9),
        TagDocument(tags=("shirt", "hat"), weight=5),
        TagDocument(tags=("hat", "coat"), weight=4),
        TagDocument(tags=("trousers", "coat"), weight=3),
        TagDocument(tags=("apple", "pear"), weight=9),
        TagDocument(tags=("apple", "plum"), weight=5),
        TagDocument(tags=("pear", "plum"), weight=4),
    ),
)
"""Clothes and fruit, which never occur together; a fig occurs with nothing."""
