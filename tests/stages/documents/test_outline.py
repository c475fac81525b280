"""The outline of a converted document, and the formats that are converted."""

import io
import zipfile
from collections.abc import Mapping

import pytest

from schemas.errors import DocumentError
from schemas.values.documents import Heading, RepairAction, TocEntry
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import sections
from stages.documents.outline import DocumentFormat, format_of, outline
from stages.documents.repair import repair_by_reply, repair_by_rules, sanitise
from stages.documents.select import select_by_rules

MARKDOWN = "# Tea\n\nText.\n\n### 1.1 Leaves\n\nGreen.\n"


def heading(line: int, level: int, text: str, toc_level: int | None = None) -> Heading:
    return Heading(line=line, level=level, text=text, toc_level=toc_level)


def test_headings_have_the_levels_of_the_table_of_contents_and_what_is_missing_is_listed() -> None:
    toc = [TocEntry(level=1, title="TEA"), TocEntry(level=2, title="Leaves"), TocEntry(level=1, title="Index")]
    found = outline(MARKDOWN, toc)
    assert found.headings == (heading(1, 1, "Tea", 1), heading(5, 3, "1.1 Leaves", 2))
    assert found.missing == (toc[2],)


def test_rules_take_the_levels_of_the_table_of_contents_and_leave_no_level_out() -> None:
    found = repair_by_rules([heading(1, 1, "Tea", 1), heading(5, 3, "Leaves", 3), heading(9, 1, "***")])
    assert [one.action for one in found] == [RepairAction.NO_CHANGE, RepairAction.H2, RepairAction.REMOVE]


def test_repairs_are_applied_and_pages_keep_their_lines() -> None:
    repaired = repair_by_reply("1 : REMOVE\n5 : H2 : Leaves", outline(MARKDOWN, ()).headings)
    made = sanitise(MARKDOWN, repaired, (1, 3, 5))
    assert (made.markdown, made.page_lines) == ("\nText.\n\n## Leaves\n\nGreen.\n", (1, 2, 4))
    assert [heading.work_line for heading in made.headings] == [None, 4]


def test_sections_that_nobody_asks_about_are_skipped_with_what_is_in_them() -> None:
    text = "# Tea\n\n## Leaves\n\n# 9 References\n\n## Books\n\n# Copyright\n"
    found = select_by_rules(sections(read_markdown(text), title=""))
    assert found == {5: "a bibliography", 7: "a bibliography", 9: "a copyright page"}


def archive(entries: Mapping[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return written.getvalue()


EPUB = archive({"mimetype": "application/epub+zip"})


def test_a_format_is_that_of_the_content() -> None:
    forms = {
        (b"%PDF-1.7\n", "book.txt"): DocumentFormat.PDF,
        (b"\xef\xbb\xbf\n<!DOCTYPE html><p>x", "book"): DocumentFormat.HTML,
        (b"<?xml version='1.0'?>\n<!-- page --><HTML>", "book.txt"): DocumentFormat.HTML,
        (EPUB, "book.zip"): DocumentFormat.EPUB,
        (archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "a.odt"): DocumentFormat.ODT,
        (archive({"[Content_Types].xml": "", "word/document.xml": ""}), "a.docx"): DocumentFormat.DOCX,
        (b"Tea\n===\n", "a.RST"): DocumentFormat.RST,
        (b"Tea", "a.txt"): DocumentFormat.TEXT,
    }
    assert {(content, name): format_of(content, name) for content, name in forms} == forms


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"text", "a.pdf", "named as pdf"),
        (b"text", "a.exe", "its format is none of those"),
        (b"a\0b", "a.txt", "its format is none of those"),
        (b"PK\x03\x04 broken", "a.docx", "damaged archive"),
        (EPUB[:38] + b"\xff" * 4 + EPUB[42:], "a.epub", "damaged archive"),
        (archive({"mimetype": "x" * 101, "a": ""}), "a.epub", "neither EPUB, DOCX nor ODT"),
    ],
)
def test_what_is_no_document_is_refused_with_the_reason(content: bytes, name: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        format_of(content, name)
