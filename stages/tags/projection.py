"""The canonical tags of a token."""

from schemas.values.tags import Lexicon, Tag


def project(token: str, lexicon: Lexicon, *, min_tag_count: int) -> tuple[Tag, ...]:
    """The tag of this name, else the tags of this alias, else none; in alphabetical order.

    A token that is both is the tag. Aliases are followed once: a target that is not a tag is dropped. So are tags with
    a count below `min_tag_count`; a missing count is 0.
    """
    names = (token,) if token in lexicon.tags else lexicon.aliases.get(token, ())
    tags = (lexicon.tags[name] for name in sorted(set(names)) if name in lexicon.tags)
    return tuple(tag for tag in tags if (tag.count or 0) >= min_tag_count)
