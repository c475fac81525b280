"""Stage `consolidate`: chunks merged into passages of their works."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from schemas.values.documents import CorpusChunk
from schemas.values.queries import ConsolidatedContext, ContextGroup, RerankedChunk
from stages.corpora.cut import pages_of
from stages.corpora.lines import passage
from stages.queries.works import WorkText, refuse_changed

Section = tuple[int, int | None]
"""Work id and parent id: the content under one heading."""


class Item(NamedTuple):
    """Lines of a work that may become a passage of the context."""

    chunk_ids: tuple[int, ...]
    work_id: int
    parent_id: int | None
    content: str
    start_line: int
    end_line: int
    score: float
    level: str

    @property
    def section(self) -> Section:
        return self.work_id, self.parent_id


class MergeRules(NamedTuple):
    """When chunks are merged, and the origin of the merged text."""

    coverage_threshold: float
    """The share of a section's lines from which the section replaces its chunks."""
    line_gap: int
    """Chunks are joined when the next starts at most this many lines after the end of the last."""
    enrich_from_md: bool
    """Read the text of a passage from the work. Otherwise texts are joined and no section replaces its chunks."""


def merge_until_stable(
    items: Sequence[Item],
    *,
    parents: Mapping[int, CorpusChunk],
    works: Mapping[int, WorkText],
    rules: MergeRules,
) -> list[Item]:
    """Merge section by section, and repeat until a pass changes nothing.

    A section that replaced its chunks belongs to the section around it, which may replace it in turn.
    """
    changed = True
    current = list(items)
    while changed:
        changed = False
        merged: list[Item] = []
        for (work_id, parent_id), group in _by_section(current).items():
            parent = parents.get(parent_id) if parent_id is not None else None
            if rules.enrich_from_md and parent and coverage(group, parent) >= rules.coverage_threshold:
                merged.append(_folded(group, parent, works[work_id]))
                changed = True
            else:
                joined = join_neighbours(group, works[work_id], rules)
                merged += joined
                changed = changed or len(joined) < len(group)
        current = merged
    return current


def coverage(group: Iterable[Item], parent: CorpusChunk) -> float:
    """The share of the parent's lines that the group covers; 0 for a parent without lines."""
    total = parent.end_line - parent.start_line + 1
    if total <= 0:
        return 0.0
    inside = {
        line
        for item in group
        for line in range(max(item.start_line, parent.start_line), min(item.end_line, parent.end_line) + 1)
    }
    return len(inside) / total


def join_neighbours(group: Sequence[Item], work: WorkText, rules: MergeRules) -> list[Item]:
    """The items by line, joined where the gap allows. The gap counts from the end of the item added last, even if an
    earlier one ends later."""
    runs: list[list[Item]] = []
    for item in sorted(group, key=lambda item: item.start_line):
        if runs and item.start_line - runs[-1][-1].end_line <= rules.line_gap:
            runs[-1].append(item)
        else:
            runs.append([item])
    return [_joined(run, work, enrich_from_md=rules.enrich_from_md) for run in runs]


def _joined(run: Sequence[Item], work: WorkText, *, enrich_from_md: bool) -> Item:
    start, end = min(item.start_line for item in run), max(item.end_line for item in run)
    content = passage(work.lines, start, end) if enrich_from_md else "\n\n".join(item.content for item in run)
    return run[0]._replace(
        chunk_ids=_ids(run), content=content, start_line=start, end_line=end, score=max(item.score for item in run)
    )


def _folded(group: Sequence[Item], parent: CorpusChunk, work: WorkText) -> Item:
    return Item(
        chunk_ids=_ids(group),
        work_id=parent.work_id,
        parent_id=parent.parent_id,
        content=passage(work.lines, parent.start_line, parent.end_line),
        start_line=parent.start_line,
        end_line=parent.end_line,
        score=max(item.score for item in group),
        level=parent.level,
    )


def _ids(items: Iterable[Item]) -> tuple[int, ...]:
    return tuple(id_ for item in items for id_ in item.chunk_ids)


def _by_section(items: Iterable[Item]) -> dict[Section, list[Item]]:
    sections: dict[Section, list[Item]] = {}
    for item in items:
        sections.setdefault(item.section, []).append(item)
    return sections


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
