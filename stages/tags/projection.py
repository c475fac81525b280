"""The canonical tags of a token."""

from schemas.values.tags import Lexicon, Tag


def named(token: str, lexicon: Lexicon) -> tuple[Tag, ...]:
    """The tag of this name, else the tags of this alias, else none; in alphabetical order.

    A token that is both is the tag. Aliases are followed once: a target that is not a tag is dropped.
    """
    names = (token,) if token in lexicon.tags else lexicon.aliases.get(token, ())
    return tuple(lexicon.tags[name] for name in sorted(set(names)) if name in lexicon.tags)


def is_rare(tag: Tag, min_tag_count: int) -> bool:
    """Whether the tag is used less than `min_tag_count` times; a missing count is 0."""
    return (tag.count or 0) < min_tag_count


def project(token: str, lexicon: Lexicon, *, min_tag_count: int) -> tuple[Tag, ...]:
    """The tags that the token names, without rare ones."""
    return tuple(tag for tag in named(token, lexicon) if not is_rare(tag, min_tag_count))
