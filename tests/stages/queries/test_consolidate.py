"""Passages of chunks, under their headings."""

from collections.abc import Mapping
from typing import Any

import pytest

from schemas.errors import WorkChangedError
from schemas.settings.preset import ConsolidationPreset
from schemas.values.documents import CorpusChunk
from schemas.values.queries import ConsolidatedContext, ContextGroup, RerankedChunk
from stages.corpora.blocks import passage
from stages.corpora.works import WorkText
from stages.queries.consolidate import breadcrumb_chain, consolidate_chunks, group_of, join_neighbours, nearest_heading
from tests.stages.queries.builders import by_id, chunk, numbered_lines, reranked

LINES = numbered_lines(200)
WORKS = {work_id: WorkText(f"hash {work_id}", LINES) for work_id in (1, 2)}
HASHES = {work_id: work.content_hash for work_id, work in WORKS.items()}
#: Lines 1 to 100, and in it lines 11 to 20.
OUTER = chunk(90, "# Outer", level="H1", lines=(1, 100))
INNER = chunk(91, "## Inner", level="H2", lines=(11, 20), parent_id=90, breadcrumbs="Outer > Inner")


def part(
    id_: int, first: int, last: int, parent_id: int | None = None, work_id: int = 1, *, score: float = 1.0
) -> RerankedChunk:
    stored = chunk(id_, f"text {id_}", lines=(first, last), parent_id=parent_id, work_id=work_id)
    return reranked(stored, final_score=score)


def consolidate(
    *chunks: RerankedChunk,
    parents: Mapping[int, CorpusChunk] = by_id(OUTER, INNER),
    works: Mapping[int, WorkText] = WORKS,
    **settings: Any,
) -> ConsolidatedContext:
    return consolidate_chunks(
        chunks, parents=parents, works=works, work_hashes=HASHES, preset=ConsolidationPreset(**settings)
    )


def spans(context: ConsolidatedContext) -> list[tuple[tuple[int, ...], int, int]]:
    return [(group.chunk_ids, group.start_line, group.end_line) for group in context.groups]


def test_b4_chunks_that_cover_half_of_their_parent_are_replaced_by_it() -> None:
    paged = {1: WORKS[1]._replace(page_lines=[1, 12, 19, 21])}
    chunks = part(1, 11, 13, parent_id=91, score=0.5), part(2, 19, 20, parent_id=91, score=0.7)

    context = consolidate(*chunks, works=paged)

    whole = ContextGroup(
        chunk_ids=(1, 2),
        parent_id=90,
        work_id=1,
        content=passage(LINES, 11, 20),
        start_line=11,
        end_line=20,
        score=0.7,
        heading_chain=(),
        pages=(1, 3),
    )
    assert context == ConsolidatedContext(original_count=2, consolidated_count=1, dropped_short=0, groups=(whole,))


@pytest.mark.parametrize(
    ("parts", "settings", "merged"),
    [
        pytest.param([(1, 11, 14, 91)], {}, [((1,), 11, 14)], id="less than half of the parent"),
        pytest.param([(1, 11, 20, 77), (2, 11, 20)], {}, [((1,), 11, 20), ((2,), 11, 20)], id="a parent is gone"),
        pytest.param([(1, 11, 14, 91), (2, 11, 14, 91)], {}, [((1, 2), 11, 14)], id="lines count once"),
        pytest.param(
            [(1, 11, 14, 91), (2, 11, 14, 91)], {"coverage_threshold": 0.4}, [((1, 2), 11, 20)], id="another threshold"
        ),
        # 11 to 15 become 11 to 20, and these with 21 to 60 half of the outer section.
        pytest.param([(1, 11, 15, 91), (2, 21, 60, 90)], {}, [((1, 2), 1, 100)], id="parents fold upward"),
        pytest.param([(1, 1, 10), (2, 17, 20)], {}, [((1, 2), 1, 20)], id="a gap of 7 lines"),
        pytest.param([(1, 1, 10), (2, 18, 20)], {}, [((1,), 1, 10), ((2,), 18, 20)], id="a gap of 8 lines"),
        # The second pass sees lines 1 to 50 and 20 to 21.
        pytest.param([(1, 1, 50), (2, 5, 6), (3, 20, 21)], {}, [((1, 2, 3), 1, 50)], id="until nothing changes"),
        pytest.param(
            [(1, 1, 2), (2, 3, 4, 90), (3, 3, 4, None, 2)],
            {},
            [((1,), 1, 2), ((2,), 3, 4), ((3,), 3, 4)],
            id="not those of other sections and works",
        ),
    ],
)
def test_b4_parents_replace_their_chunks_and_neighbours_are_joined(
    parts: list[tuple[Any, ...]], settings: dict[str, Any], merged: list[object]
) -> None:
    assert spans(consolidate(*(part(*one) for one in parts), **settings)) == merged


def test_the_gap_counts_from_the_chunk_added_last() -> None:
    groups = [group_of(part(*spans), {}) for spans in ((1, 1, 50), (2, 5, 6), (3, 20, 21))]

    joined = join_neighbours(groups, WORKS[1], ConsolidationPreset())

    assert [group.chunk_ids for group in joined] == [(1, 2), (3,)]


def test_merged_lines_are_read_from_the_work_with_the_best_score() -> None:
    context = consolidate(part(2, 5, 6, score=0.9), part(1, 1, 2, score=0.1))

    (group,) = context.groups
    assert (group.chunk_ids, group.content, group.score) == ((1, 2), passage(LINES, 1, 6), 0.9)


def test_b4_passages_under_350_characters_are_dropped() -> None:
    lines = ["x" * 349, "", "y" * 350]
    works = {1: WorkText("hash 1", lines)}

    context = consolidate(part(1, 1, 1), part(2, 3, 3), works=works, min_content_length=350, line_gap=0)

    assert (spans(context), context.original_count, context.consolidated_count) == ([((2,), 3, 3)], 2, 1)
    assert context.dropped_short == 1


def test_groups_come_best_first_and_ties_in_order() -> None:
    chunks = [part(1, 100, 101, score=0.5), part(2, 50, 51, score=0.9), part(3, 1, 2, work_id=2, score=0.5)]

    assert [group.chunk_ids for group in consolidate(*chunks).groups] == [(2,), (1,), (3,)]


@pytest.mark.parametrize("works", [{}, {1: WorkText("another hash", LINES)}])
def test_b4_a_changed_work_is_an_error(works: Mapping[int, WorkText]) -> None:
    with pytest.raises(WorkChangedError, match="Work 1 has changed"):
        consolidate(part(1, 1, 2), works=works)


PARENTS = by_id(
    chunk(1, "# Tea #\n\nLeaves.", level="H1"),
    chunk(2, "no heading", level="H2", parent_id=1, breadcrumbs="Tea > Colour"),
    chunk(3, "#\n", level="H3", parent_id=2),
    chunk(4, "", level="H3", parent_id=77),
)


def test_breadcrumbs_are_the_chain_and_parents_are_walked_until_one_begins_with_a_heading() -> None:
    found = {id_: (breadcrumb_chain(id_, PARENTS), nearest_heading(id_, PARENTS)) for id_ in (1, 2, 3, 4, 77, None)}

    assert found == {
        1: ((), "Tea"),
        2: (("Tea", "Colour"), "Tea"),
        3: ((), "Tea"),
        4: ((), None),
        77: ((), None),
        None: ((), None),
    }
