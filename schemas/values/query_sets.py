"""Queries as files bring them, and how relevant documents are to them."""

from pydantic import Field

from schemas.values.base import Value


class SubmittedQuery(Value):
    """One line of a query file."""

    external_id: str
    text: str = Field(repr=False)


class RelevanceJudgement(Value):
    """How relevant a document is to a query; 0 and below is judged and not relevant."""

    query_id: str
    document: str
    relevance: int


class QuerySet(Value):
    """Queries in the order of their file, and the judgements of them."""

    queries: tuple[SubmittedQuery, ...]
    judgements: tuple[RelevanceJudgement, ...] = ()
    """Of these queries alone."""
    left_out_keys: tuple[str, ...] = ()
    """Keys of the query file that nothing is done with, by name."""
    left_out_judgements: int = 0
    """Judgements of queries that the query file does not have."""
