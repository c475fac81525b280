"""The format of a document: by its content, and among formats of plain text by its name."""

import io
import re
import zipfile
import zlib
from enum import StrEnum
from pathlib import PurePath
from typing import Final

from schemas.errors import DocumentError

_LONGEST_MIMETYPE: Final = 100
_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,999}(?:<\?xml[^>]{0,999}>\s{0,999})?(?:<!--.{0,9999}?-->\s{0,999})?"
    rb"<(?:!doctype\s{1,9}html|html)\b",
    re.IGNORECASE | re.DOTALL,
)


class DocumentFormat(StrEnum):
    """A format that works are imported from."""

    MARKDOWN = "markdown"
    PDF = "pdf"
    EPUB = "epub"
    HTML = "html"
    DOCX = "docx"
    ODT = "odt"
    RST = "rst"
    TEXT = "text"


SUFFIXES: Final = {
    ".md": DocumentFormat.MARKDOWN,
    ".markdown": DocumentFormat.MARKDOWN,
    ".pdf": DocumentFormat.PDF,
    ".epub": DocumentFormat.EPUB,
    ".html": DocumentFormat.HTML,
    ".htm": DocumentFormat.HTML,
    ".xhtml": DocumentFormat.HTML,
    ".docx": DocumentFormat.DOCX,
    ".odt": DocumentFormat.ODT,
    ".rst": DocumentFormat.RST,
    ".txt": DocumentFormat.TEXT,
    ".text": DocumentFormat.TEXT,
}
"""Of the files that are taken from a folder."""

_OF_MIMETYPE: Final = {
    b"application/epub+zip": DocumentFormat.EPUB,
    b"application/vnd.oasis.opendocument.text": DocumentFormat.ODT,
}
_TEXTS: Final = (DocumentFormat.MARKDOWN, DocumentFormat.RST, DocumentFormat.TEXT)


def is_markdown(name: str) -> bool:
    """Whether a file of this name is to be markdown."""
    return SUFFIXES.get(PurePath(name).suffix.lower()) is DocumentFormat.MARKDOWN


def holds_markdown(content: bytes, name: str) -> bool:
    """Whether a file is taken for markdown: by its name, unless it is a PDF or an archive.

    >>> holds_markdown(b"<html>", "tea.md"), holds_markdown(b"%PDF-1.7", "tea.md")
    (True, False)
    """
    return is_markdown(name) and not content.startswith((b"%PDF-", b"PK\x03\x04"))


def format_of(content: bytes, name: str) -> DocumentFormat:
    """The format of a file. Raises DocumentError for one of no known format.

    >>> format_of(b"%PDF-1.7 ...", "page.html").value
    'pdf'
    >>> format_of(b"Leaves\\n======\\n", "tea.rst").value
    'rst'
    """
    if b"%PDF-" in content[:1024]:
        return DocumentFormat.PDF
    if content.startswith(b"PK\x03\x04"):
        return _format_of_archive(content)
    if _HTML.match(content[:12_000]):
        return DocumentFormat.HTML
    named = SUFFIXES.get(PurePath(name).suffix.lower())
    if b"\0" in content or named is None:
        raise DocumentError(f"its format is none of those that are imported: {', '.join(DocumentFormat)}")
    if named not in (*_TEXTS, DocumentFormat.HTML):
        raise DocumentError(f"it is named as {named} and is none; correct the name or the file")
    return named


def _format_of_archive(content: bytes) -> DocumentFormat:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = {entry.filename: entry for entry in archive.infolist()}
            if "mimetype" in names and names["mimetype"].file_size <= _LONGEST_MIMETYPE:
                with archive.open("mimetype") as file:
                    found = _OF_MIMETYPE.get(file.read(_LONGEST_MIMETYPE).strip())
                if found is not None:
                    return found
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
        raise DocumentError("it is a damaged archive; get the file again") from None
    if "[Content_Types].xml" in names and any(entry.startswith("word/") for entry in names):
        return DocumentFormat.DOCX
    raise DocumentError("it is an archive and neither EPUB, DOCX nor ODT; unpack it first")
