"""What is searched of tables and figures, and which texts are their captions."""

import pytest

from schemas.statuses import VectorStatus
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import ChunkSize, cut_work
from stages.corpora.works import count_words

ROWS = "| tea | minutes |\n|---|---|\n| green | 2 |\n| black |  |\n"


def searched(markdown: str, *, size: ChunkSize = ChunkSize()) -> list[tuple[int, int, str]]:  # noqa: B008
    """Lines and text of the chunks that are there for a table or a figure."""
    document = read_markdown(markdown)
    kept = cut_work(document, title="Tea", size=size, searches_tables=False)
    found = cut_work(document, title="Tea", size=size)
    assert [chunk for chunk in found if chunk in kept] == kept
    assert {chunk.vector_status for chunk in found if chunk not in kept} <= {VectorStatus.TO_VEC}
    return [(chunk.start_line, chunk.end_line, chunk.content) for chunk in found if chunk not in kept]


def test_a_cell_is_searched_with_the_name_of_its_column_below_the_caption() -> None:
    assert searched(f"**Table 1** Brewing\n\n{ROWS}") == [
        (1, 6, "Table 1 Brewing. tea: green; minutes: 2. tea: black.")
    ]


@pytest.mark.parametrize(
    ("markdown", "found"),
    [
        ("| Brewing | |\n|---|---|\n| tea | minutes |\n| green | 2 |\n", "Brewing. tea: green; minutes: 2."),
        ("| | |\n|---|---|\n| green | 2 |\n", "green; 2."),
        ("| | minutes |\n|---|---|\n| green | 2 |\n", "green; minutes: 2."),
        ("| tea | minutes |\n|---|---|\n", "tea; minutes."),
        ("| `a` |\n|---|\n| [b](c) *d* |\n", "a: b d."),
    ],
    ids=["a row above the header is a title", "no header", "a corner", "a header alone", "markup"],
)
def test_tables_of_other_shapes(markdown: str, found: str) -> None:
    assert [text for _, _, text in searched(markdown)] == [found]


def test_chunks_of_a_long_table_have_its_caption_and_all_of_its_lines_and_fit() -> None:
    long = "Table 1: Kinds of tea\n\n| tea | minutes |\n|---|---|\n" + "| green or white | 2 |\n" * 20
    size = ChunkSize(target=20, most=20, least=5)
    found = searched(long, size=size)

    assert len(found) == 20 / 2
    assert {(start, end) for start, end, _ in found} == {(1, 24)}
    assert all(text.startswith("Table 1: Kinds of tea. tea: green") for _, _, text in found)
    assert max(count_words(text) for _, _, text in found) <= 20
