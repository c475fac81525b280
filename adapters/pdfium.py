"""A PDF read by PDFium in a process of its own, and converted by the places and fonts of its lines.

The process, `python -m adapters.pdfium < book.pdf`, writes one JSON object: `pages` (height and lines), `toc`, `title`
and `authors`; or `error` in words, with the `page` where it is known. Before each page its number is written to stderr.
"""

import ctypes
import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from itertools import islice
from typing import Any, Final

import pypdfium2 as pdfium
from pypdfium2 import raw

from adapters.limited_process import ProcessLimits, run_limited
from schemas.errors import DocumentError
from schemas.values.documents import ConvertedDocument, TocEntry
from stages.documents.outline import described_by
from stages.documents.pdf_layout import PdfLine, PdfPage, pdf_markdown

_FEWEST_LETTERS: Final = 20
"""Of a page of text, on average. A scan has the letters of its page numbers at most."""


async def convert_by_pdfium(content: bytes, limits: ProcessLimits) -> ConvertedDocument:
    """A PDF as markdown, by rules. Raises as `adapters.documents.convert` does, and DocumentError for a scan."""
    found = json.loads(await run_limited([sys.executable, "-m", "adapters.pdfium"], content, limits))
    if "error" in found:
        raise DocumentError(found["error"], page=found.get("page"))
    pages = [PdfPage(page["height"], tuple(PdfLine(**line) for line in page["lines"])) for page in found["pages"]]
    letters = sum(char.isalnum() for page in pages for line in page.lines for char in line.text)
    if letters < _FEWEST_LETTERS * len(pages):
        raise DocumentError(
            f"its {len(pages)} pages have {letters} letters: a scan, or fonts without text; recognise its text first "
            "(ocrmypdf in.pdf out.pdf)"
        )
    toc = tuple(TocEntry(**entry) for entry in found["toc"])
    by = {"converter": f"pypdfium2 {metadata.version('pypdfium2')}", **described_by(found["title"], found["authors"])}
    return pdf_markdown(pages, toc).model_copy(update=by)


_ENCRYPTED = "it is encrypted; save it without a password first"
_DAMAGED = "its PDF cannot be read; is the file damaged?"
_CUT = "its file is cut off, and nothing is there; get the file again"
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
        json.dump({"error": _ENCRYPTED if is_encrypted else _DAMAGED}, sys.stdout)
        return
    pages = []
    for number in range(len(document)):
        print(f"page {number + 1}", file=sys.stderr, flush=True)
        try:
            pages.append(_page(document, number))
        except pdfium.PdfiumError:
            json.dump({"error": _DAMAGED, "page": number + 1}, sys.stdout)
            return
        # PDFium reads nothing of a page whose contents are missing, as of a blank one.
        if is_cut and not pages[-1]["lines"]:
            json.dump({"error": _CUT, "page": number + 1}, sys.stdout)
            return
    metadata = document.get_metadata_dict()
    json.dump(
        {
            "pages": pages,
            "toc": [*_toc(document)],
            "title": _plain(metadata.get("Title", "")),
            "authors": _plain(metadata.get("Author", "")),
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
    places = [at for at, letter in enumerate(text, start=start) if not letter.isspace()]
    boxes = [_loose_box(text_page, at) for at in places]
    fonts = [_font(text_page, at) for at in places]
    sizes = Counter(round(top - bottom, 1) for _, bottom, _, top in boxes)
    return {
        "text": _plain("".join(text)),
        "size": sizes.most_common(1)[0][0] if sizes else 0.0,
        "left": round(min((left for left, _, _, _ in boxes), default=0.0), 1),
        "right": round(max((right for _, _, right, _ in boxes), default=0.0), 1),
        "bottom": round(min((bottom for _, bottom, _, _ in boxes), default=0.0), 1),
        "is_bold": bool(places) and 10 * sum(is_bold for is_bold, _ in fonts) >= 9 * len(places),
        "is_fixed": bool(places) and all(is_fixed for _, is_fixed in fonts),
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
