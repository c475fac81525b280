"""Cutting a work: the lines and the parent of every chunk, and that nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.statuses import VectorStatus
from schemas.values.documents import CutChunk
from stages.corpora.blocks import BlockKind, read_markdown
from stages.corpora.cut import ChunkSize, cut_work
from stages.corpora.lines import lines_of, passage

TEA = """\
---
title: Tea
---
Before any heading.

# Tea

About tea.

### Leaves

Green ones.

| leaf | minutes |
|---|---|
| green | 2 |

![pot](pot.png)

## Water

Soft.
"""


def cut(markdown: str, *, title: str = "A work", size: ChunkSize = ChunkSize()) -> list[CutChunk]:  # noqa: B008
    return cut_work(read_markdown(markdown), title=title, size=size)


def test_headings_and_content_are_chunks_with_parents_paths_and_lines() -> None:
    chunks = [
        (chunk.level, chunk.parent, chunk.heading_breadcrumbs, chunk.start_line, chunk.end_line, chunk.vector_status)
        for chunk in cut(TEA, title="Tea for all")
    ]

    assert chunks == [
        ("H1", None, "Tea for all", 4, 5, "no_vec"),
        ("H1-chunk", 0, "Tea for all", 4, 4, "to_vec"),
        ("H1", None, "Tea", 6, 22, "no_vec"),
        ("H1-chunk", 2, "Tea", 8, 8, "to_vec"),
        ("H3", 2, "Tea > Leaves", 10, 19, "no_vec"),
        ("H3-chunk", 4, "Tea > Leaves", 12, 12, "to_vec"),
        ("H3-chunk", 4, "Tea > Leaves", 14, 16, "tbl"),
        ("H3-chunk", 4, "Tea > Leaves", 14, 16, "to_vec"),
        ("H3-chunk", 4, "Tea > Leaves", 18, 18, "fig"),
        ("H3-chunk", 4, "Tea > Leaves", 18, 18, "to_vec"),
        ("H2", 2, "Tea > Water", 20, 22, "no_vec"),
        ("H2-chunk", 10, "Tea > Water", 22, 22, "to_vec"),
    ]


def test_a_heading_chunk_holds_its_lines_and_a_content_chunk_its_sentences() -> None:
    chunks = cut("# Tea\n\n- Steep it\n  well.\n- Wait.\n")

    assert [chunk.content for chunk in chunks] == ["# Tea\n\n- Steep it\n  well.\n- Wait.", "Steep it well. Wait."]


def test_a_section_ends_before_the_next_heading_of_its_level_and_its_parent_is_the_nearest_higher_one() -> None:
    chunks = cut("# A\n## B\n#### C\n### D\n## E\n# F\n")

    assert [(chunk.heading_breadcrumbs, chunk.parent, chunk.start_line, chunk.end_line) for chunk in chunks] == [
        ("A", None, 1, 5),
        ("A > B", 0, 2, 4),
        ("A > B > C", 1, 3, 3),
        ("A > B > D", 1, 4, 4),
        ("A > E", 0, 5, 5),
        ("F", None, 6, 6),
    ]


@pytest.mark.parametrize("markdown", ["\n\n", "\x1f"])
def test_a_work_without_visible_characters_has_no_chunks(markdown: str) -> None:
    assert cut(markdown) == []


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "", "---", "```", "~~~", "| a | b |", "|---|---|", "> ", "- ", "![x](y.png)", "[r]: http://z"]
        ),
        st.tuples(
            st.sampled_from(["", "# ", "## ", "### ", "##### ", "###### ", "- ", "1. ", "> ", "    ", "| "]),
            st.lists(st.sampled_from(["leaf", "Cup.", "pot", "e.g.", "“Hot!”", "3.5", "*brew*"]), min_size=1),
        ).map(lambda drawn: drawn[0] + " ".join(drawn[1])),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0")),
    )
)
SIZES = st.integers(1, 12).map(lambda words: ChunkSize(target=words, most=words * 2, least=words // 2, overlap=2))


@given(LINES, SIZES)
def test_no_line_with_words_is_lost_and_every_chunk_is_inside_its_parent(lines: list[str], size: ChunkSize) -> None:
    markdown = "\n".join(lines)
    document, chunks = read_markdown(markdown), cut(markdown, size=size)
    content = [chunk for chunk in chunks if chunk.vector_status != VectorStatus.NO_VEC]
    covered = {line for chunk in content for line in range(chunk.start_line, chunk.end_line + 1)}
    headings = {
        line
        for block in document.blocks
        if block.kind is BlockKind.HEADING
        for line in range(block.start_line, block.end_line + 1)
    }
    matter = len(lines_of(document.front_matter)) + 2 if document.front_matter else 0

    for number, line in enumerate(lines_of(markdown), start=1):
        assert number in covered or number in headings or number <= matter or not any(map(str.isalnum, line))
    for chunk in chunks:
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines_of(markdown))
        assert chunk.content.strip()
        assert (chunk.parent is None) == (
            chunk.level == "H1" or (chunk.vector_status == "no_vec" and chunk.parent is None)
        )
        if chunk.parent is not None:
            parent = chunks[chunk.parent]
            assert parent.vector_status == VectorStatus.NO_VEC
            assert parent.start_line <= chunk.start_line <= chunk.end_line <= parent.end_line
            assert passage(lines_of(markdown), parent.start_line, parent.end_line) == parent.content
    assert cut(markdown, size=size) == chunks
