"""A PDF read by PDFium in a process of its own, and converted by the places and fonts of its lines.

The process, `python -m adapters.pdfium < book.pdf`, writes one JSON object: `pages` (height and lines), `toc`, `title`,
`authors` and `damaged`, the numbers of pages that have contents of which nothing is read; or `error`, `encrypted` or
`damaged`, with the `page` that is. Before each page its number is written to stderr.
"""

import base64
import binascii
import ctypes
import io
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import islice
from typing import Any, Final

import pypdfium2 as pdfium
from pypdfium2 import raw

from adapters.limited_process import ProcessLimits, run_limited
from schemas.errors import DocumentError
from schemas.values.documents import ConvertedDocument, TocEntry
from stages.documents.outline import DocumentFormat, described_by
from stages.documents.pdf_layout import PdfLine, PdfPage, pdf_markdown

_FEWEST_LETTERS: Final = 20
"""Of a page of text, on average. A scan has the letters of its page numbers at most."""
_MOST_RANGES: Final = 20
"""Of pages that an error names."""


async def convert_by_pdfium(content: bytes, limits: ProcessLimits) -> ConvertedDocument:
    """A PDF as markdown, by rules.

    Raises as `adapters.documents.convert` does, and DocumentError for a scan.
    """
    found = json.loads(await run_limited([sys.executable, "-m", "adapters.pdfium"], content, limits))
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
    toc = tuple(TocEntry(**entry) for entry in found["toc"])
    converted = pdf_markdown(pages, toc)
    described = described_by({"title": found["title"], "author": found["authors"]})
    return ConvertedDocument(
        format=DocumentFormat.PDF,
        converter=f"pypdfium2 {metadata.version('pypdfium2')}",
        toc=toc,
        pages=len(pages),
        **converted._asdict(),
        title=described.title,
        authors=described.authors,
    )


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


_BOLD_WEIGHT = 600
_FIXED_FLAG = 1
_CONTROL = {"\r", "\n", "\0"}
# PDFium writes U+0002 for a hyphen at the end of a line, and nothing for the end itself.
_ENDS = {*_CONTROL, "\x02"}
_KEPT = {"\t", "\x02"}
_MOST_ENTRIES = 20_000
_LONGEST_END = 2048
"""Bytes at the end of a file that have its mark."""


def main() -> None:
    """Read a PDF on stdin."""
    content = sys.stdin.buffer.read()
    is_cut = b"%%EOF" not in content[-_LONGEST_END:]
    try:
        document = pdfium.PdfDocument(content)
    except pdfium.PdfiumError:
        is_encrypted = raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD
        json.dump({"error": "encrypted" if is_encrypted else "damaged"}, sys.stdout)
        return
    pages = []
    damaged = []
    for number in range(len(document)):
        print(f"page {number + 1}", file=sys.stderr, flush=True)
        try:
            pages.append(_page(document, number))
            if not pages[-1]["lines"] and is_damaged(document, number, is_cut=is_cut):
                damaged.append(number + 1)
        except pdfium.PdfiumError:
            json.dump({"error": "damaged", "page": number + 1}, sys.stdout)
            return
    metadata = document.get_metadata_dict()
    json.dump(
        {
            "pages": pages,
            "toc": [*_toc(document)],
            "title": _plain(metadata.get("Title", "")),
            "authors": _plain(metadata.get("Author", "")),
            "damaged": damaged,
        },
        sys.stdout,
    )


def _toc(document: pdfium.PdfDocument) -> Iterator[dict[str, Any]]:
    for entry in islice(document.get_toc(), _MOST_ENTRIES):
        target = entry.get_dest()
        page = None if target is None else target.get_index()
        title = _plain(entry.get_title())
        yield {"level": entry.level + 1, "title": title, "page": None if page is None else page + 1}


def _plain(text: str) -> str:
    """The text without control characters and halves of surrogate pairs."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "".join(char for char in whole if char >= " " or char in _KEPT).strip("\n\r")


def _page(document: pdfium.PdfDocument, number: int) -> dict[str, Any]:
    page = document[number]
    text_page = page.get_textpage()
    try:
        return {"height": page.get_height(), "lines": [*_lines(text_page)]}
    finally:
        text_page.close()
        page.close()


def _lines(text_page: pdfium.PdfTextPage) -> Iterator[dict[str, Any]]:
    start = 0
    text: list[str] = []
    for at in range(text_page.count_chars()):
        letter = chr(raw.FPDFText_GetUnicode(text_page.raw, at))
        if letter not in _CONTROL:
            text.append(letter)
        if letter not in _ENDS:
            continue
        if text:
            yield _line(text_page, start, text)
        start, text = at + 1, []
    if text:
        yield _line(text_page, start, text)


def _line(text_page: pdfium.PdfTextPage, start: int, text: list[str]) -> dict[str, Any]:
    sizes: Counter[float] = Counter()
    bold = fixed = letters = 0
    box = (float("inf"), float("inf"), float("-inf"))
    for at, letter in enumerate(text, start=start):
        if letter.isspace():
            continue
        letters += 1
        left, bottom, right, top = _loose_box(text_page, at)
        box = (min(box[0], left), min(box[1], bottom), max(box[2], right))
        sizes[round(top - bottom, 1)] += 1
        is_bold, is_fixed = _font(text_page, at)
        bold += is_bold
        fixed += is_fixed
    left, bottom, right = box if letters else (0.0, 0.0, 0.0)
    return {
        "text": _plain("".join(text)),
        "size": sizes.most_common(1)[0][0] if sizes else 0.0,
        "left": round(left, 1),
        "right": round(right, 1),
        "bottom": round(bottom, 1),
        "is_bold": letters > 0 and 10 * bold >= 9 * letters,
        "is_fixed": letters > 0 and fixed == letters,
    }


def _loose_box(text_page: pdfium.PdfTextPage, at: int) -> tuple[float, float, float, float]:
    box = raw.FS_RECTF()
    if not raw.FPDFText_GetLooseCharBox(text_page.raw, at, box):
        return 0.0, 0.0, 0.0, 0.0
    return box.left, box.bottom, box.right, box.top


def _font(text_page: pdfium.PdfTextPage, at: int) -> tuple[bool, bool]:
    flags = ctypes.c_int()
    name = ctypes.create_string_buffer(200)
    length = raw.FPDFText_GetFontInfo(text_page.raw, at, name, 200, flags)
    named = name.value.lower() if length else b""
    is_bold = b"bold" in named or b"black" in named or raw.FPDFText_GetFontWeight(text_page.raw, at) >= _BOLD_WEIGHT
    is_fixed = bool(flags.value & _FIXED_FLAG) or any(word in named for word in (b"mono", b"courier", b"typewriter"))
    return is_bold, is_fixed


if __name__ == "__main__":
    main()
