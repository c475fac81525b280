"""Replies about questions, built from stored values."""

from collections.abc import Sequence
from dataclasses import asdict

from api.rest.bodies.rag_queries import Passage, QueryDetail, QueryItem, RetrievedChunk
from schemas.statuses import QueryStatus
from schemas.values.queries import ConsolidatedContext, RerankedChunk
from store.questions.query_lines import QueryLine
from store.questions.query_view import QueryView


def item_of(line: QueryLine) -> QueryItem:
    """A question in one line."""
    values = asdict(line)
    if line.status is QueryStatus.VEC_ERR:
        values["status"] = QueryStatus.NEEDS_EMBEDDINGS
    return QueryItem(**values, corpora=line.corpora, entities_count=line.entities, results_count=line.results)


def detail_of(view: QueryView) -> QueryDetail:
    """A question with its current outputs."""
    expansion = view.expansion
    is_rrf = view.found is not None and view.found.fusion == "rrf"
    return QueryDetail(
        **item_of(view.line).model_dump(),
        expanded_queries=None if expansion is None else list(expansion.queries),
        hyde_answer=None if expansion is None else expansion.hyde_answer,
        entities=None if expansion is None else list(expansion.entities),
        retrieved_context=None if view.retrieved is None else _chunks(view.retrieved.chunks, is_rrf=is_rrf),
        clean_retrieval_context=None if view.consolidated is None else passages(view.consolidated),
        available_context_count=view.available,
        error=view.error,
        nearest=_chunks(view.nearest, is_rrf=is_rrf),
    )


def passages(context: ConsolidatedContext) -> list[Passage]:
    """The passages of a context in their order."""
    return [Passage(place=place, **group.model_dump()) for place, group in enumerate(context.groups, start=1)]


def _chunks(chunks: Sequence[RerankedChunk], *, is_rrf: bool) -> list[RetrievedChunk]:
    return [
        RetrievedChunk(
            id=chunk.chunk_id,
            rrf_score=chunk.fused_score if is_rrf else None,
            fusion_score=chunk.fused_score,
            **chunk.model_dump(exclude={"chunk_id", "fused_score"}),
        )
        for chunk in chunks
    ]
