"""Which part of a list is wanted: declared once for commands, REST and pages."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.statuses import QueryStatus
from schemas.values.base import MAX_ID, Request, Text
from schemas.values.runs import Option

Search = Annotated[Text, Field(max_length=200), Option(metavar="WORDS")]
Before = Annotated[int | None, Field(ge=1, le=MAX_ID, examples=[17]), Option(metavar="ID")]
Limit = Annotated[int, Field(ge=1, le=1000, examples=[20]), Option(metavar="N")]

Need = Literal[
    QueryStatus.NEEDS_EMBEDDINGS, QueryStatus.NEEDS_RETRIEVAL, QueryStatus.NEEDS_CONSOLIDATION, QueryStatus.READY
]
"""What a question needs next: an embedding that failed needs embeddings."""


RunKind = Literal["participant", "query", "tags", "index", "work", "evaluation"]


class RunsWanted(Request):
    """Runs, newest first."""

    kind: RunKind | None = None
    """Only runs of this kind."""
    search: Search = Field(default="", examples=["baseline failed"])
    """Only runs that have each of these words as number, or in name, note, kind, profile, request or states."""
    before: Before = None
    """Only runs older than this one."""
    limit: Limit = 20
    """How many, newest first."""


class QuestionsWanted(Request):
    """Questions, newest first."""

    status: Need | None = None
    """Only questions that need this next; `ready` needs an answer."""
    before: Before = None
    """Only questions that follow this one: the last of the previous page."""
    limit: Annotated[int | None, Field(ge=1, le=1000, examples=[20]), Option(metavar="N")] = None
    """How many; null lists all."""


class Part(Request):
    """A part of a list."""

    limit: Limit = 100
    """How many."""
    offset: Annotated[int, Field(ge=0, le=2**31 - 1, examples=[0])] = 0
    """How many to leave out before them."""


class WorksWanted(Part):
    """Works of a corpus, by title."""

    search: Search = Field(default="", examples=["tea"])
    """Only works with this text in title, authors, year or source."""


class TagsWanted(Part):
    """Tags of a vocabulary, the most used first."""

    search: Search = Field(default="", examples=["coat"])
    """Only tags with this in their name."""


class ChunksWanted(Part):
    """Content chunks of a work, in the order of its text."""

    heading: Annotated[int | None, Field(ge=1, le=MAX_ID, examples=[12]), Option(metavar="ID")] = None
    """Only chunks of this section, deeper ones included."""
