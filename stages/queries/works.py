"""The text of works for the stages of a query."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.errors import WorkChangedError


class WorkName(NamedTuple):
    """What a source is called by."""

    title: str
    corpus: str
    """The name of the corpus that has the work."""


class WorkText(NamedTuple):
    """The stored markdown of a work."""

    title: str
    content_hash: str
    """SHA-256 of the markdown."""
    lines: Sequence[str]
    """Without line ends; line numbers start at 1."""
    page_lines: Sequence[int] = ()
    """The line at which each page begins; empty for a work without pages."""


def refuse_changed(works: Mapping[int, WorkText], hashes: Mapping[int, str]) -> None:
    """Raise WorkChangedError for the first work that is deleted or has another hash than the given one."""
    for work_id, content_hash in sorted(hashes.items()):
        if work_id not in works or works[work_id].content_hash != content_hash:
            raise WorkChangedError(work_id)
