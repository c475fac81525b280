"""Chunks of works: sentences, their packing, tables with captions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.statuses import VectorStatus
from schemas.values.documents import CutChunk
from stages.corpora.blocks import Block, BlockKind, lines_of, passage, read_markdown
from stages.corpora.cut import ChunkSize, Sentence, cut_work, pack, sentences
from stages.corpora.works import Words

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


def test_a_work_without_visible_characters_has_no_chunks() -> None:
    assert cut("\n\n") == cut("\x1f") == []


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


def of(*words: int) -> list[Sentence]:
    """Sentences with these numbers of words, each on its own line."""
    return [Sentence(f"s{place}", place, place, count) for place, count in enumerate(words)]


def packed(*words: int, size: ChunkSize = ChunkSize()) -> list[list[int]]:  # noqa: B008
    return [[sentence.start_line for sentence in chunk] for chunk in pack(of(*words), size)]


def test_a_chunk_is_full_at_the_target_the_next_begins_with_its_last_three_sentences_and_a_small_end_joins() -> None:
    assert packed(*[40] * 9) == [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [4, 5, 6, 7, 8]]
    assert packed(100, 110, 49) == [[0, 1, 2]]


def test_chunks_of_tokens_are_filled_and_share_a_quarter_at_most() -> None:
    assert packed(*[10] * 12, size=ChunkSize.of_tokens(40)) == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9], [9, 10, 11]]
    assert packed(*[30] * 3, size=ChunkSize.of_tokens(40)) == [[0], [1], [2]]


def test_headings_leave_less_for_content_and_half_at_least() -> None:
    size = ChunkSize.of_tokens(100)
    assert (size.without(0), size.without(30).most, size.without(90).most) == (size, 70, 50)
    assert size.without(30).target == 70


SIZES_IN_TOKENS = st.tuples(st.integers(1, 60), st.integers(0, 60), st.integers(0, 30), st.integers(0, 4)).map(
    lambda drawn: ChunkSize(target=drawn[0], most=drawn[0] + drawn[1], least=drawn[2], overlap=drawn[3])
)


@given(st.lists(st.integers(0, 120)), SIZES_IN_TOKENS)
def test_every_sentence_is_packed_in_order_and_chunks_stay_within_bounds(words: list[int], size: ChunkSize) -> None:
    words = [min(count, size.most) for count in words]
    chunks = pack(of(*words), size)
    new: list[list[int]] = []
    for chunk in chunks:
        places = [sentence.start_line for sentence in chunk]
        assert places == list(range(places[0], places[-1] + 1))
        assert sum(sentence.length for sentence in chunk) <= size.most
        new.append([place for place in places if not new or place > new[-1][-1]])

    assert [place for places in new for place in places] == list(range(len(words)))
    assert all(new)


ROWS = "| tea | minutes |\n|---|---|\n| green | 2 |\n| black |  |\n"


def searched(markdown: str, *, size: ChunkSize = ChunkSize()) -> list[tuple[int, int, str]]:  # noqa: B008
    """Lines and text of the chunks that are there for a table or a figure."""
    found = cut_work(read_markdown(markdown), title="Tea", size=size)
    kept = [chunk for chunk in found if chunk.vector_status in (VectorStatus.TABLE, VectorStatus.FIGURE)]
    return [
        (chunk.start_line, chunk.end_line, chunk.content)
        for chunk in found
        if chunk.vector_status is VectorStatus.TO_VEC
        and any(chunk.start_line <= one.end_line and one.start_line <= chunk.end_line for one in kept)
    ]


def test_a_cell_is_searched_with_the_name_of_its_column() -> None:
    # Below a caption; a title above the header; no header; a corner; a header alone; and markup.
    found = {
        f"**Table 1** Brewing\n\n{ROWS}": (1, 6, "Table 1 Brewing. tea: green; minutes: 2. tea: black."),
        "| Brewing | |\n|---|---|\n| tea | minutes |\n| green | 2 |\n": (1, 4, "Brewing. tea: green; minutes: 2."),
        "| | |\n|---|---|\n| green | 2 |\n": (1, 3, "green; 2."),
        "| | minutes |\n|---|---|\n| green | 2 |\n": (1, 3, "green; minutes: 2."),
        "| tea | minutes |\n|---|---|\n": (1, 2, "tea; minutes."),
        "| `a` |\n|---|\n| [b](c) *d* |\n": (1, 3, "a: b d."),
    }
    assert {markdown: searched(markdown) for markdown in found} == {markdown: [one] for markdown, one in found.items()}


def test_chunks_of_a_long_table_have_its_caption_and_all_of_its_lines_and_fit() -> None:
    long = "Table 1: Kinds of tea\n\n| tea | minutes |\n|---|---|\n" + "| green or white | 2 |\n" * 20
    size = ChunkSize(target=20, most=20, least=5)
    found = searched(long, size=size)

    assert len(found) == 20 / 2
    assert {(start, end) for start, end, _ in found} == {(1, 24)}
    assert all(text.startswith("Table 1: Kinds of tea. tea: green") for _, _, text in found)
    assert max(Words().length(text) for _, _, text in found) <= 20


def texts_of(text: str, *, most: int = 300, language: str = "english") -> list[Sentence]:
    block = Block(BlockKind.TEXT, 7, 7 + text.count("\n"), text)
    return list(sentences(block, measure=Words(), most=most, language=language))


def test_abbreviations_end_no_sentence_each_knows_its_lines_and_one_longer_than_a_chunk_is_split() -> None:
    assert texts_of("Dr. Leaf steeps\nit, e.g. at noon. Then\nhe waits.") == [
        Sentence("Dr. Leaf steeps it, e.g. at noon.", 7, 8, 7),
        Sentence("Then he waits.", 8, 9, 3),
    ]
    assert [found.text for found in texts_of("leaf " * 7, most=3)] == ["leaf leaf leaf", "leaf leaf leaf", "leaf"]


def test_markup_and_link_targets_are_no_words() -> None:
    counts = {
        "": 0,
        "| --- | --- |": 0,
        "**Steep** the _leaves_ - briefly.": 4,
        'a [very long](http://example.org/a "a title of its own") link': 4,
        "don't re-steep 2 cups": 4,
    }
    assert {markdown: Words().length(markdown) for markdown in counts} == counts


@pytest.mark.parametrize("language", ["english", "german", "polish", "simple"])
def test_sentences_end_as_the_language_ends_them(language: str) -> None:
    date = ["Er kam am 3. Mai."] if language == "german" else ["Er kam am 3.", "Mai."]

    found = texts_of("Er kam am 3. Mai. Dann ging er.", language=language)

    assert [sentence.text for sentence in found] == [*date, "Dann ging er."]
