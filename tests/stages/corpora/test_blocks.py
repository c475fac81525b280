"""Blocks of markdown, and their lines."""

import pytest

from stages.corpora.blocks import BlockKind, lines_of, read_markdown

HEADING, TEXT, TABLE, FIGURE = BlockKind.HEADING, BlockKind.TEXT, BlockKind.TABLE, BlockKind.FIGURE


def seen(markdown: str) -> list[tuple[BlockKind, int, int, str]]:
    return [(block.kind, block.start_line, block.end_line, block.text) for block in read_markdown(markdown).blocks]


def test_headings_are_read_in_both_spellings_and_without_their_markup() -> None:
    blocks = read_markdown("# Green *tea* `Sencha` [x](http://y)\n\nLeaves\n------\n##### Deep #####\n").blocks

    assert [(block.text, block.level, block.start_line, block.end_line) for block in blocks] == [
        ("Green tea Sencha x", 1, 1, 1),
        ("Leaves", 2, 3, 4),
        ("Deep", 5, 5, 5),
    ]


def test_a_heading_has_no_html_and_no_permalink() -> None:
    words = {
        '# The tea[¶](#the-tea "Permalink to this headline")': "The tea",
        '# <a id="tea"></a>The <b>tea</b> &amp; pots ¶': "The tea & pots",
        "# The [tea](tea.md) #2": "The tea #2",
        "# [](#tea)Tea": "Tea",
        "# ¶": "¶",
    }
    assert {line: seen(f"{line}\n") for line in words} == {
        line: [(HEADING, 1, 1, text)] for line, text in words.items()
    }


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_what_looks_like_a_heading_in_code_is_text_and_every_item_of_a_list_its_own(fence: str) -> None:
    code = f"{fence}\n# no heading\n{fence}"

    assert seen(f"{code}\n- one\n  more\n\n- two\n  1. deep\n") == [
        (TEXT, 1, 3, code),
        (TEXT, 4, 6, "one\nmore"),
        (TEXT, 7, 7, "two"),
        (TEXT, 8, 8, "deep"),
    ]


def test_a_table_keeps_its_lines_and_front_matter_moves_none() -> None:
    table = "| leaf | minutes |\n|---|---|\n| green | 2 |"

    assert seen(f"---\ntitle: Tea\n---\nBefore.\n{table}\n\nAfter.\n") == [
        (TEXT, 4, 4, "Before."),
        (TABLE, 5, 7, table),
        (TEXT, 9, 9, "After."),
    ]


def test_only_line_ends_end_lines() -> None:
    assert lines_of("a\u2028b\x0bc\r\nd\re\n\n") == ["a\u2028b\x0bc", "d", "e", ""]
