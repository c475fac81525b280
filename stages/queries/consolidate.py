"""Stage `consolidate`: chunks merged into passages of their works."""

from collections.abc import Mapping, Sequence

from schemas.values.corpora import CorpusChunk
from schemas.values.queries import ConsolidatedContext, ContextGroup, RerankedChunk
from stages.corpora.pages import pages_of
from stages.queries.headings import breadcrumb_chain
from stages.queries.merging import Item, MergeRules, merge_until_stable
from stages.queries.works import WorkText, refuse_changed


def consolidate_chunks(
    chunks: Sequence[RerankedChunk],
    *,
    parents: Mapping[int, CorpusChunk],
    works: Mapping[int, WorkText],
    work_hashes: Mapping[int, str],
    coverage_threshold: float,
    line_gap: int,
    min_content_length: int,
    enrich_from_md: bool,
) -> ConsolidatedContext:
    """Merge chunks of one section, best score first, and drop passages of fewer than `min_content_length` characters.

    `parents` has the heading chunks around the chunks, up to the outermost, by id. Chunks whose parent is absent there
    are joined with their neighbours only. A passage has the best score of its chunks; equal scores keep the order of
    the chunks. Raises WorkChangedError when the text of a work is deleted, or differs from the one that the chunks were
    ranked with (`work_hashes`).
    """
    refuse_changed(works, {chunk.work_id: work_hashes[chunk.work_id] for chunk in chunks})
    rules = MergeRules(coverage_threshold, line_gap, enrich_from_md)
    merged = merge_until_stable([_item(chunk) for chunk in chunks], parents=parents, works=works, rules=rules)
    ordered = sorted(merged, key=lambda item: -item.score)
    groups = tuple(_group(item, parents, works) for item in ordered if len(item.content) >= min_content_length)
    return ConsolidatedContext(
        original_count=len(chunks),
        consolidated_count=len(groups),
        groups=groups,
        dropped_short=len(merged) - len(groups),
    )


def _item(chunk: RerankedChunk) -> Item:
    return Item(
        chunk_ids=(chunk.chunk_id,),
        work_id=chunk.work_id,
        parent_id=chunk.parent_id,
        content=chunk.content,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        score=chunk.final_score,
        level=chunk.level,
    )


def _group(item: Item, parents: Mapping[int, CorpusChunk], works: Mapping[int, WorkText]) -> ContextGroup:
    return ContextGroup(
        chunk_ids=item.chunk_ids,
        parent_id=item.parent_id,
        work_id=item.work_id,
        content=item.content,
        start_line=item.start_line,
        end_line=item.end_line,
        score=item.score,
        heading_chain=breadcrumb_chain(item.parent_id, parents),
        pages=pages_of(works[item.work_id].page_lines, item.start_line, item.end_line),
    )
