"""From a token to the canonical tags that it stands for."""

from schemas.values.tags import Lexicon, Tag


def project(token: str, lexicon: Lexicon, *, min_tag_count: int) -> tuple[Tag, ...]:
    """The tag of this name, else those that the alias stands for, else none; in alphabetical order.

    A token that is both is the tag. Aliases are followed once: a target that is no tag drops out. So do tags that
    were used less than `min_tag_count` times; one that nobody counted was used 0 times.
    """
    names = (token,) if token in lexicon.tags else lexicon.aliases.get(token, ())
    tags = (lexicon.tags[name] for name in sorted(set(names)) if name in lexicon.tags)
    return tuple(tag for tag in tags if (tag.count or 0) >= min_tag_count)
