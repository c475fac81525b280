"""Answers as JSON."""

from datetime import datetime
from typing import Any, Final

from pydantic import Field

from api.rest.bodies.base import Reply, with_example
from schemas.values.queries import AnswerBasis, Origin, Source

SOURCE_EXAMPLE: Final[dict[str, Any]] = {
    "label": "S1",
    "work_id": 2,
    "title": "Memory",
    "corpus": "default",
    "chunk_ids": [7, 9],
    "start_line": 40,
    "end_line": 42,
    "heading_chain": ["Memory", "Working memory"],
    "pages": [12, 13],
}

BASIS_EXAMPLE: Final[dict[str, Any]] = {
    "context_source": "consolidated",
    "shown": 5,
    "available": 8,
    "found_chunks": 52,
    "dropped_chunks": {},
    "kept_short": {},
    "ranker": "score-fusion",
    "rejected_chunks": 0,
    "consolidated_count": 8,
    "dropped_passages": 0,
    "cut_texts": 0,
    "corpora": ["default"],
    "full_text": "english",
}

_RESULT: Final[dict[str, Any]] = {
    "id": 42,
    "query_id": 1,
    "response_text": "Working memory is a cognitive system... [S1]",
    "created_at": "2026-01-01T12:00:00Z",
    "updated_at": "2026-01-01T12:00:00Z",
    "origin": "model",
    "model": "llama3.1:8b",
    "is_light": False,
    "preset": "Balanced",
    "prompt_hash": "5d8a995a6fa7cf7c",
    "sources": [SOURCE_EXAMPLE],
    "cited": ["S1"],
    "unknown_citations": [],
    "is_cut": False,
    "basis": BASIS_EXAMPLE,
    "notes": ["The prompt has 5 of 8 available sources."],
}


class ResultReply(Reply):
    """An answer."""

    model_config = with_example(**_RESULT)

    id: int
    query_id: int
    response_text: str = Field(repr=False)
    created_at: datetime
    updated_at: datetime
    origin: Origin
    """`model`, `pasted`, or `extractive` for sentences that are quoted from the sources."""
    model: str | None
    is_light: bool
    """The light model of the run wrote it (`use_full_model: false`)."""
    preset: str | None
    prompt_hash: str
    sources: list[Source]
    """The source of each label of the prompt."""
    cited: list[str]
    """The labels of the sources that it cites; the others were only in the prompt."""
    unknown_citations: list[str]
    """Cited labels that the prompt does not have."""
    is_cut: bool
    """The token limit ended the answer."""
    basis: AnswerBasis | None
    """What its prompt was based on, and what was lost before; None for an answer of an earlier version."""
    notes: list[str]
    """The same in sentences, one for each fallback and each loss."""


class ResultList(Reply):
    """The answers to a question, newest first."""

    model_config = with_example(query_id=1, results=[_RESULT], total=1)

    query_id: int
    results: list[ResultReply]
    total: int
