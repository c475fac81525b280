"""The tags that a request may get."""

from collections.abc import Iterable

from schemas.values.tags import Tag

NSFW_FROM = 0.95
"""The probability from which a tag is not safe for work."""


def is_nsfw(tag: Tag) -> bool:
    """Whether the tag is not safe for work; an unrated tag is safe.

    >>> [is_nsfw(Tag(name="a", nsfw_probability=probability)) for probability in (0.95, 0.9499, None)]
    [True, False, False]
    """
    return tag.nsfw_probability is not None and tag.nsfw_probability >= NSFW_FROM


def permitted(tags: Iterable[Tag], *, allow_nsfw_tags: bool) -> tuple[Tag, ...]:
    """The tags that the request may get, in their order."""
    return tuple(tag for tag in tags if allow_nsfw_tags or not is_nsfw(tag))
