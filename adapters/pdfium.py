"""A PDF read by PDFium in a process of its own, and converted by the places and fonts of its lines."""

import base64
import binascii
import io
import json
import re
import sys
import zlib
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import Final, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from adapters.limited_process import ProcessLimits, run_limited
from schemas.errors import DocumentError, DocumentReaderMissingError
from schemas.values.documents import ConvertedDocument, TocEntry
from stages.documents.outline import Described, DocumentFormat, described_by
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


# Of a page whose contents are damaged PDFium reads nothing, as of a blank one. It copies the page as it stands, though,
# into a PDF of its own writing, which is simple to read.
_MOST_BYTES = 50_000_000
_OBJECT = re.compile(rb"(\d{1,9}) 0 obj\r\n")
_PAGE = re.compile(rb"/Kids\[ (\d{1,9}) 0 R")
_CONTENTS = re.compile(rb"/Contents(?: (\d{1,9}) 0 R|\[([ \dR]{0,99999})\])")
_REFERENCE = re.compile(rb"(\d{1,9}) 0 R")
_STREAM = re.compile(rb">>stream\r\n")
_LENGTH = re.compile(rb"/Length (\d{1,9})")
_FILTERS = re.compile(rb"/Filter(?:/(\w{1,99})|\[([ /\w]{0,999})\])")
_OTHER_FILTERS = frozenset({b"LZWDecode", b"ASCIIHexDecode", b"RunLengthDecode", b"LZW", b"AHx", b"RL", b"Crypt"})
"""PDFium decodes them; here nothing does, so that their streams are taken for readable."""
_BLANK = re.compile(
    rb"(?:[\s\0]|[-+.\d]|%[^\r\n]*+|/[^\s\0()<>\[\]{}/%]*+|[\[\]]|<<|>>|<[\s\da-fA-F]*+>|\((?:[^()\\]|\\.)*+\)|"
    rb"(?:true|false|null|q|Q|cm|w|J|j|M|d|ri|i|gs|W\*?|n|re|m|l|c|v|y|h|BT|ET|T[cwzLfrsdDmJj*]|'|\"|d0|d1|"
    rb"CS|cs|SCN?|scn?|G|g|RG|rg|K|k|MP|DP|BMC|BDC|EMC|BX|EX)(?![A-Za-z*]))*+",
    re.DOTALL,
)
"""Contents of which a reader draws nothing: states, clips, and texts without a letter."""


_DRAWN_FORM = re.compile(rb"/[^\s\0()<>\[\]{}/%]++\s++Do\b")


def is_damaged(document: pdfium.PdfDocument, number: int, *, is_cut: bool) -> bool:
    """Whether a page on which PDFium finds nothing has contents. `is_cut`: the end of the file is missing."""
    found = {one.type for one in document[number].get_objects()}
    if not found <= {raw.FPDF_PAGEOBJ_FORM}:
        return False
    copy = pdfium.PdfDocument.new()
    written = io.BytesIO()
    try:
        copy.import_pages(document, [number])
        copy.save(written)
    except pdfium.PdfiumError:
        return True
    finally:
        copy.close()
    objects = _objects(written.getvalue())
    page = objects.get(_first(_PAGE, objects.get(2, b"")), b"")
    named = _CONTENTS.search(page)
    if named is None:
        return is_cut
    listed = _REFERENCE.findall(named[2]) if named[1] is None else _REFERENCE.findall(objects.get(int(named[1]), b""))
    contents = [int(named[1])] if named[1] is not None and not listed else [int(one) for one in listed]
    forms = [stream for stream in objects.values() if b"/Subtype/Form" in stream]
    streams = [*(objects.get(one, b"") for one in contents), *forms]
    return any(_is_unreadable(stream, has_forms=bool(found)) for stream in streams)


def _objects(written: bytes) -> dict[int, bytes]:
    """The objects of a PDF that PDFium wrote, by the places that its table has."""
    table = written[written.rindex(b"\r\nxref\r\n") :]
    places = sorted(int(place) for place in re.findall(rb"(\d{10}) 00000 n\r\n", table))
    ends = [*places[1:], len(written) - len(table)]
    found = {}
    for place, end in zip(places, ends, strict=True):
        if (named := _OBJECT.match(written, place)) is not None:
            found[int(named[1])] = written[named.end() : end]
    return found


def _first(pattern: re.Pattern[bytes], text: bytes) -> int:
    found = pattern.search(text)
    return 0 if found is None else int(found[1])


def _is_unreadable(stream: bytes, *, has_forms: bool) -> bool:
    begins = _STREAM.search(stream)
    if begins is None:
        return False
    described = stream[: begins.start()]
    data = stream[begins.end() :][: _first(_LENGTH, described)]
    named = _FILTERS.search(described)
    filters = [] if named is None else (named[1] or named[2]).replace(b"/", b" ").split()
    for one in filters:
        if one in _OTHER_FILTERS:
            return False
        try:
            match one:
                case b"FlateDecode" | b"Fl":
                    data = _inflated(data)
                case b"ASCII85Decode" | b"A85":
                    data = base64.a85decode(
                        data.strip().removeprefix(b"<~").removesuffix(b"~>"), ignorechars=b" \t\n\r\v\0\f"
                    )
                case _:
                    return True
        except (zlib.error, binascii.Error, ValueError):
            return True
    if has_forms:
        data = _DRAWN_FORM.sub(b"", data)
    return _BLANK.fullmatch(data) is None


def _inflated(data: bytes) -> bytes:
    """Without its check sum, which many programs write wrong. Raises zlib.error for data that has no end."""
    if not data.strip():
        return b""
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)
    found = inflating.decompress(data[2:], _MOST_BYTES)
    if not inflating.eof and not inflating.unconsumed_tail:
        raise zlib.error("no end")
    return found
