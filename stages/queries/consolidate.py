"""Stage `consolidate`: chunks merged into passages of their works."""

from collections.abc import Iterable, Mapping, Sequence

from schemas.settings.preset import ConsolidationPreset
from schemas.values.documents import CorpusChunk
from schemas.values.queries import ConsolidatedContext, ContextGroup, RerankedChunk
from stages.corpora.blocks import passage
from stages.corpora.cut import SEPARATOR, pages_of
from stages.corpora.works import WorkText, refuse_changed


def merge_until_stable(
    groups: Sequence[ContextGroup],
    *,
    parents: Mapping[int, CorpusChunk],
    works: Mapping[int, WorkText],
    preset: ConsolidationPreset,
) -> list[ContextGroup]:
    """Merge section by section, and repeat until a pass changes nothing. A section that replaced its chunks belongs to
    the section around it, which may replace it in turn. Without `enrich_from_md` no section replaces its chunks."""
    changed = True
    current = list(groups)
    while changed:
        changed = False
        merged: list[ContextGroup] = []
        sections: dict[tuple[int, int | None], list[ContextGroup]] = {}
        for group in current:
            sections.setdefault((group.work_id, group.parent_id), []).append(group)
        for (work_id, parent_id), own in sections.items():
            parent = parents.get(parent_id) if parent_id is not None else None
            if preset.enrich_from_md and parent and coverage(own, parent) >= preset.coverage_threshold:
                merged.append(_folded(own, parent, parents, works[work_id]))
                changed = True
            else:
                joined = join_neighbours(own, works[work_id], preset)
                merged += joined
                changed = changed or len(joined) < len(own)
        current = merged
    return current


def coverage(groups: Iterable[ContextGroup], parent: CorpusChunk) -> float:
    """The share of the parent's lines that the groups cover; 0 for a parent without lines."""
    total = parent.end_line - parent.start_line + 1
    if total <= 0:
        return 0.0
    inside = {
        line
        for group in groups
        for line in range(max(group.start_line, parent.start_line), min(group.end_line, parent.end_line) + 1)
    }
    return len(inside) / total


def join_neighbours(groups: Sequence[ContextGroup], work: WorkText, preset: ConsolidationPreset) -> list[ContextGroup]:
    """The groups by line, joined where the gap allows. The gap counts from the end of the group added last, even if an
    earlier one ends later."""
    runs: list[list[ContextGroup]] = []
    for group in sorted(groups, key=lambda group: group.start_line):
        if runs and group.start_line - runs[-1][-1].end_line <= preset.line_gap:
            runs[-1].append(group)
        else:
            runs.append([group])
    return [_joined(run, work, enrich_from_md=preset.enrich_from_md) for run in runs]


def _joined(run: Sequence[ContextGroup], work: WorkText, *, enrich_from_md: bool) -> ContextGroup:
    start, end = min(group.start_line for group in run), max(group.end_line for group in run)
    content = passage(work.lines, start, end) if enrich_from_md else "\n\n".join(group.content for group in run)
    score = max(group.score for group in run)
    return run[0].model_copy(
        update={"chunk_ids": _ids(run), "content": content, "start_line": start, "end_line": end, "score": score}
    )


def _folded(
    groups: Sequence[ContextGroup], parent: CorpusChunk, parents: Mapping[int, CorpusChunk], work: WorkText
) -> ContextGroup:
    return ContextGroup(
        **parent.model_dump(include={"work_id", "parent_id", "start_line", "end_line"}),
        chunk_ids=_ids(groups),
        content=passage(work.lines, parent.start_line, parent.end_line),
        score=max(group.score for group in groups),
        heading_chain=breadcrumb_chain(parent.parent_id, parents),
    )


def _ids(groups: Iterable[ContextGroup]) -> tuple[int, ...]:
    return tuple(id_ for group in groups for id_ in group.chunk_ids)


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


def consolidate_chunks(
    chunks: Sequence[RerankedChunk],
    *,
    parents: Mapping[int, CorpusChunk],
    works: Mapping[int, WorkText],
    work_hashes: Mapping[int, str],
    preset: ConsolidationPreset,
) -> ConsolidatedContext:
    """Merge chunks of one section, best score first, and drop passages of fewer than `min_content_length` characters.
    A passage has the best score of its chunks; equal scores keep the order of the chunks.

    `parents` has the heading chunks around the chunks, up to the outermost, by id; chunks without one are joined with
    their neighbours only. Raises WorkChangedError when the text of a work is not that of `work_hashes`.
    """
    refuse_changed(works, {chunk.work_id: work_hashes[chunk.work_id] for chunk in chunks})
    alone = [group_of(chunk, parents) for chunk in chunks]
    merged = merge_until_stable(alone, parents=parents, works=works, preset=preset)
    ordered = sorted(merged, key=lambda group: -group.score)
    groups = tuple(
        group.model_copy(update={"pages": pages_of(works[group.work_id].page_lines, group.start_line, group.end_line)})
        for group in ordered
        if len(group.content) >= preset.min_content_length
    )
    return ConsolidatedContext(
        original_count=len(chunks),
        consolidated_count=len(groups),
        groups=groups,
        dropped_short=len(merged) - len(groups),
    )


def group_of(chunk: RerankedChunk, parents: Mapping[int, CorpusChunk]) -> ContextGroup:
    """A chunk as a passage of its own."""
    return ContextGroup(
        **chunk.model_dump(include={*ContextGroup.model_fields}),
        chunk_ids=(chunk.chunk_id,),
        score=chunk.final_score,
        heading_chain=breadcrumb_chain(chunk.parent_id, parents),
    )
