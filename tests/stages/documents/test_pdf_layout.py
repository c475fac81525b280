"""Lines of a PDF become markdown: headings, paragraphs, lists and code, without what every page repeats."""

from collections.abc import Sequence

from schemas.values.documents import TocEntry
from stages.documents.pdf_layout import PdfLine, PdfPage, pdf_markdown

TOP = 800.0


def line(text: str, bottom: float, *, size: float = 10, bold: bool = False, fixed: bool = False) -> PdfLine:
    return PdfLine(text, size, 50, 500, bottom, bold, fixed)


def page(*lines: PdfLine) -> PdfPage:
    return PdfPage(TOP + 40, lines)


def markdown(pages: Sequence[PdfPage]) -> str:
    return pdf_markdown(pages, ()).markdown


def test_the_outline_of_the_pdf_decides_where_it_is_found_and_the_fonts_elsewhere() -> None:
    pages = [page(line("1 Tea", 700, size=20), line("Leaves", 660), line("They are green.", 640))]
    tea, leaves, gone = (
        TocEntry(level=level, title=t, page=1) for level, t in ((1, "Tea"), (2, "Leaves"), (1, "Gone"))
    )

    found = pdf_markdown(pages, [tea, leaves])

    assert found.markdown == "# 1 Tea\n\n## Leaves\n\nThey are green.\n"
    assert found.headings_by == "outline: 2 of the 2 entries of the PDF's outline are found in its text"
    assert pdf_markdown(pages, [tea, gone]).headings_by.startswith("style: only 1 of the 2 entries")


def test_lines_become_paragraphs_and_divided_words_are_joined() -> None:
    lines = [line("Green tea is bre-", 700), line("wed cool.", 688), line("Black tea is not.", 650)]
    found = pdf_markdown([page(*lines)], [])
    assert found.markdown == "Green tea is brewed cool.\n\nBlack tea is not.\n"


def test_headers_footers_and_page_numbers_are_left_out_and_counted() -> None:
    pages = [
        page(line(f"The Book {n}", TOP), line(f"Text of page {'abcd'[n]}.", 700), line(str(n), 20)) for n in range(4)
    ]
    found = pdf_markdown(pages, [])
    assert "Book" not in found.markdown
    assert found.markdown.count("Text of page") == 4
    assert found.left_out_lines == 8


def test_lists_and_code_keep_their_form_and_markup_in_text_is_none() -> None:
    code = [line("def a():", 600, fixed=True), line("    ```", 588, fixed=True)]
    lines = [line("• one", 700), line("• two", 688), line("# no heading", 650), *code, line("After. " * 9, 500)]
    assert markdown([page(*lines)]).startswith(
        "- one\n\n- two\n\n\\# no heading\n\n````\ndef a():\n    ```\n````\n\nAfter."
    )


def test_a_single_line_of_code_within_a_paragraph_is_part_of_it() -> None:
    lines = [line("Then call", 700), line("brew(pot)", 688, fixed=True), line("and wait.", 676)]
    assert markdown([page(*lines)]) == "Then call brew(pot) and wait.\n"


def test_a_hyphen_of_its_own_stays_where_the_document_has_the_word_with_it() -> None:
    lines = [line("A well-known leaf is a well-", 700), line("known one of pre- and post-", 688), line("War tea-", 676)]
    found = pdf_markdown([page(*lines, line("houses. Two-", 664), line("and threefold.", 652))], [])
    assert found.markdown == (
        "A well-known leaf is a well-known one of pre- and post-War teahouses. Two- and threefold.\n"
    )


def test_a_divided_heading_is_joined_and_ligatures_are_letters() -> None:
    heading = [line("How leaves are clas\x02", 700, size=20), line("sified", 676, size=20)]
    found = markdown([page(*heading, line("By o\ufb03ces. " * 9, 640))])
    assert found.startswith("# How leaves are classified\n\nBy offices. By")
