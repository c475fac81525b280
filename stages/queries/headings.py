"""The headings above a passage."""

from collections.abc import Mapping

from schemas.values.corpora import CorpusChunk

SEPARATOR = " > "


def breadcrumb_chain(parent_id: int | None, parents: Mapping[int, CorpusChunk]) -> tuple[str, ...]:
    """The breadcrumbs of the parent, one by one; empty when the parent is unknown or has none."""
    parent = parents.get(parent_id) if parent_id is not None else None
    return tuple(parent.heading_breadcrumbs.split(SEPARATOR)) if parent and parent.heading_breadcrumbs else ()


def nearest_heading(parent_id: int | None, parents: Mapping[int, CorpusChunk]) -> str | None:
    """The heading of the nearest section around a passage whose text begins with one, without its number signs."""
    while parent_id is not None and (parent := parents.get(parent_id)):
        if heading := heading_of(parent.content):
            return heading
        parent_id = parent.parent_id
    return None


def heading_of(content: str) -> str | None:
    """The heading that a text begins with, without its number signs; None where it begins with something else."""
    first, *_ = content.splitlines() or [""]
    return first.strip("# \t") or None if first.startswith("#") else None
