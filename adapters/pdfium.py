"""A PDF read by PDFium in a process of its own, and converted by the places and fonts of its lines."""

import json
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import Final, NamedTuple

from adapters.limited_process import ProcessLimits, run_limited
from schemas.errors import DocumentError, DocumentReaderMissingError
from schemas.values.documents import ConvertedDocument, TocEntry
from stages.documents.formats import DocumentFormat
from stages.documents.outline import Described, described_by
from stages.documents.pdf_layout import PdfLine, PdfPage, pdf_markdown

_FEWEST_LETTERS: Final = 20
"""Of a page of text, on average. A scan has the letters of its page numbers at most."""
_MOST_RANGES: Final = 20
"""Of pages that an error names."""


class ReadPdf(NamedTuple):
    """What a PDF holds."""

    pages: list[PdfPage]
    toc: tuple[TocEntry, ...]
    described: Described


async def convert_by_pdfium(content: bytes, limits: ProcessLimits) -> ConvertedDocument:
    """A PDF as markdown, by rules. Raises as `adapters.documents.convert` does."""
    read = await read_pdf(content, limits)
    converted = pdf_markdown(read.pages, read.toc)
    return ConvertedDocument(
        format=DocumentFormat.PDF,
        converter=f"pypdfium2 {metadata.version('pypdfium2')}",
        variants=converted.variants,
        reason=converted.reason,
        toc=read.toc,
        pages=len(read.pages),
        cleaned=converted.cleaned,
        title=read.described.title,
        authors=read.described.authors,
    )


async def read_pdf(content: bytes, limits: ProcessLimits) -> ReadPdf:
    """The lines of a PDF, its outline and its metadata.

    Raises DocumentError for one that cannot be read, and for a scan, and DocumentReaderMissingError without PDFium.
    """
    if find_spec("pypdfium2") is None:
        raise DocumentReaderMissingError
    found = json.loads(await run_limited([sys.executable, "-m", "adapters.pdf_lines"], content, limits))
    match found.get("error"):
        case "encrypted":
            raise DocumentError("it is encrypted; save it without a password first")
        case "damaged":
            raise DocumentError("its PDF cannot be read; is the file damaged?", page=found.get("page"))
    if damaged := found["damaged"]:
        more = f" (and at {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        problem = f"its contents are damaged{more}; get the file again{_without(damaged, len(found['pages']))}"
        raise DocumentError(problem, page=damaged[0])
    pages = [PdfPage(page["height"], tuple(PdfLine(**line) for line in page["lines"])) for page in found["pages"]]
    letters = sum(char.isalnum() for page in pages for line in page.lines for char in line.text)
    if letters < _FEWEST_LETTERS * len(pages):
        raise DocumentError(
            f"its {len(pages)} pages have {letters} letters: a scan, or fonts without text; recognise its text first "
            "(ocrmypdf in.pdf out.pdf)"
        )
    described = described_by({"title": found["title"], "author": found["authors"]})
    return ReadPdf(pages, tuple(TocEntry(**entry) for entry in found["toc"]), described)


def _without(left_out: Sequence[int], pages: int) -> str:
    """What leaves pages out of a PDF; nothing where no other page is there."""
    kept = [number for number in range(1, pages + 1) if number not in left_out]
    ranges: list[list[int]] = []
    for number in kept:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    if not 0 < len(ranges) <= _MOST_RANGES:
        return ""
    chosen = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f", or leave out what is damaged (qpdf in.pdf --pages . {chosen} -- out.pdf)"
