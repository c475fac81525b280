"""Queries and relevance judgements from files."""

from pydantic import Field

from schemas.values.base import Value


class SubmittedQuery(Value):
    """One line of a query file."""

    external_id: str
    text: str = Field(repr=False)
    reference_answer: str | None = Field(default=None, repr=False)
    """What an answer to it is compared with."""


class RelevanceJudgement(Value):
    """The relevance of a document to a query; 0 and below is judged but not relevant."""

    query_id: str
    document: str
    relevance: int


class QuerySet(Value):
    """Queries in the order of their file, and the judgements of them."""

    queries: tuple[SubmittedQuery, ...]
    judgements: tuple[RelevanceJudgement, ...] = ()
    """Of these queries alone."""
    left_out_keys: tuple[str, ...] = ()
    """Keys of the query file that are not used, by name."""
    left_out_judgements: int = 0
    """Judgements of queries that are not in the query file."""
