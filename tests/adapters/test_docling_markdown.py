"""Documents of docling as markdown: those that its own library builds."""

import pytest

from stages.corpora.blocks import read_markdown

pytest.importorskip("docling_core", reason="docling-core is not installed: pip install 'ragq[docling]'")

from docling_core.types.doc import (
    BoundingBox,
    ContentLayer,
    DocItemLabel,
    DoclingDocument,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
)

from adapters.docling_markdown import DoclingMarkdown, docling_markdown


def at(page: int) -> ProvenanceItem:
    return ProvenanceItem(page_no=page, bbox=BoundingBox(l=0, t=0, r=1, b=1), charspan=(0, 1))


def table(*rows: tuple[str, ...]) -> TableData:
    cells = [
        TableCell(
            text=text,
            start_row_offset_idx=y,
            end_row_offset_idx=y + 1,
            start_col_offset_idx=x,
            end_col_offset_idx=x + 1,
            column_header=y == 0,
        )
        for y, row in enumerate(rows)
        for x, text in enumerate(row)
    ]
    return TableData(num_rows=len(rows), num_cols=len(rows[0]), table_cells=cells)


def book() -> DoclingDocument:
    """Five pages, of which the first and the fourth have no text."""
    made = DoclingDocument(name="tea")
    for page in range(1, 6):
        made.add_page(page_no=page, size=Size(width=612, height=792))
    made.add_text(DocItemLabel.PAGE_HEADER, "On Tea", prov=at(2), content_layer=ContentLayer.FURNITURE)
    made.add_title("On Tea", prov=at(2))
    made.add_table(table(("Leaves", "3"), ("Pots", "5")), prov=at(2), label=DocItemLabel.DOCUMENT_INDEX)
    made.add_heading("Leaves", level=1, prov=at(2))
    made.add_text(DocItemLabel.TEXT, "# is no heading & a_b_c < d.", prov=at(2))
    group = made.add_list_group()
    made.add_list_item("green", parent=group, prov=at(2))
    made.add_list_item("black", parent=group, prov=at(3))
    made.add_heading("Kinds", level=2, prov=at(3))
    caption = made.add_text(DocItemLabel.CAPTION, "How long tea is brewed", prov=at(3))
    made.add_table(table(("kind", "minutes"), ("green", "2")), caption=caption, prov=at(3))
    made.add_code("if a:\n    boil()", prov=at(3))
    made.add_text(DocItemLabel.PAGE_FOOTER, "3", prov=at(3), content_layer=ContentLayer.FURNITURE)
    made.add_formula(text="", orig="x = a / b", prov=at(5))
    picture = made.add_picture(prov=at(5))
    made.add_text(DocItemLabel.TEXT, "Words of a picture.", parent=picture, prov=at(5))
    made.add_text(DocItemLabel.TEXT, "The end.", prov=at(5))
    return made


MARKDOWN = """# On Tea

## Leaves

\\# is no heading & a_b_c < d.

- green

- black

### Kinds

: How long tea is brewed

| kind | minutes |
| - | - |
| green | 2 |

```
if a:
    boil()
```

x = a / b

Words of a picture.

The end.
"""


def test_headings_lists_tables_code_and_words_of_pictures_are_kept() -> None:
    made = docling_markdown(book(), 5)

    assert made == DoclingMarkdown(MARKDOWN, [1, 1, 9, 24, 24], running_lines=2, contents_lines=2)
    assert [block.rows for block in read_markdown(made.markdown).blocks if block.rows] == [
        (("kind", "minutes"), ("green", "2"))
    ]


def test_empty_lines_of_code_stay() -> None:
    made = DoclingDocument(name="code")
    made.add_code("a\n\n\nb", prov=at(1))
    assert docling_markdown(made, 1).markdown == "```\na\n\n\nb\n```\n"
