"""The format of a document is found by its content."""

import io
import zipfile
from collections.abc import Mapping

import pytest

from schemas.errors import DocumentError
from stages.documents.outline import DocumentFormat, format_of


def archive(entries: Mapping[str, str], *, noise: bool = False) -> bytes:
    """An archive; with noise, its first entry cannot be unpacked."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    made = bytearray(written.getvalue())
    if noise:
        start = 30 + len(next(iter(entries)))
        made[start : start + 4] = b"\xff" * 4
    return bytes(made)


@pytest.mark.parametrize(
    ("content", "name", "form"),
    [
        (b"%PDF-1.7\n", "book.txt", DocumentFormat.PDF),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><p>x", "book", DocumentFormat.HTML),
        (b"<?xml version='1.0'?>\n<!-- page --><HTML>", "book.md", DocumentFormat.HTML),
        (archive({"mimetype": "application/epub+zip"}), "book.zip", DocumentFormat.EPUB),
        (archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "a.odt", DocumentFormat.ODT),
        (archive({"[Content_Types].xml": "", "word/document.xml": ""}), "a.docx", DocumentFormat.DOCX),
        (b"Tea\n===\n", "a.RST", DocumentFormat.RST),
        (b"Tea", "a.txt", DocumentFormat.TEXT),
    ],
)
def test_a_format_is_that_of_the_content(content: bytes, name: str, form: DocumentFormat) -> None:
    assert format_of(content, name) is form


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"text", "a.pdf", "named as pdf"),
        (b"text", "a.exe", "its format is none of those"),
        (b"a\0b", "a.txt", "its format is none of those"),
        (b"PK\x03\x04 broken", "a.docx", "damaged archive"),
        (archive({"mimetype": "application/epub+zip"}, noise=True), "a.epub", "damaged archive"),
        (archive({"mimetype": "x" * 101, "a": ""}), "a.epub", "neither EPUB, DOCX nor ODT"),
    ],
)
def test_what_is_no_document_is_refused_with_the_reason(content: bytes, name: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        format_of(content, name)
