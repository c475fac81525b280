"""Chunks of one section merged into passages: replaced by the section, or joined with their neighbours."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from schemas.values.corpora import CorpusChunk
from stages.corpora.lines import passage
from stages.queries.works import WorkText

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
