"""Documents converted to markdown: PDF by PDFium, what pandoc reads by pandoc, plain text as it is."""

import io
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from adapters.limited_process import ProcessLimits, run_limited, takes_too_much
from schemas.errors import DocumentError, Refused
from schemas.values.documents import ConvertedDocument
from stages.documents.outline import DocumentFormat, described_by

_READERS_MISSING: Final = "PDF, EPUB, HTML, DOCX, ODT, RST need more packages: pip install pypandoc-binary pypdfium2."
_OF_PANDOC: Final = {
    DocumentFormat.EPUB: "epub",
    DocumentFormat.HTML: "html+tex_math_single_backslash",
    DocumentFormat.DOCX: "docx",
    DocumentFormat.ODT: "odt",
    DocumentFormat.RST: "rst",
}
_ARCHIVES: Final = (DocumentFormat.EPUB, DocumentFormat.DOCX, DocumentFormat.ODT)
_WRITES: Final = "gfm-raw_html+tex_math_dollars"
#: The title, the authors and the text, with `_END` after the first two.
_TEMPLATE: Final = Path(__file__).with_name("described.txt")
_END: Final = "\x1f"
_TABLES: Final = Path(__file__).with_name("tables.lua")
_ODT: Final = Path(__file__).with_name("odt.lua")
_LARGEST_GROWTH: Final = 4
"""An archive may unpack to so many times the limit of output: pictures are most of it, and not read."""


async def convert(content: bytes, form: DocumentFormat, limits: ProcessLimits) -> ConvertedDocument:
    """A document as markdown. Raises DocumentError for one that cannot be read, and Refused where
    the packages that read it are not installed."""
    if form is DocumentFormat.PDF:
        if find_spec("pypdfium2") is None:
            raise Refused(_READERS_MISSING)
        from adapters.pdfium import convert_by_pdfium

        return await convert_by_pdfium(content, limits)
    return await _convert_by_pandoc(content, form, limits) if form in _OF_PANDOC else _as_it_is(content, form)


async def _convert_by_pandoc(content: bytes, form: DocumentFormat, limits: ProcessLimits) -> ConvertedDocument:
    if form in _ARCHIVES:
        _refuse_bomb(content, limits)
    if form is DocumentFormat.RST:
        content = _text(content).encode()
    program, version = _pandoc()
    written = await run_limited(
        [
            program,
            "+RTS",
            f"-M{limits.memory_mb}M",
            "-RTS",
            "--sandbox",
            *([f"--lua-filter={_ODT}"] if form is DocumentFormat.ODT else ()),
            f"--lua-filter={_TABLES}",
            f"--from={_OF_PANDOC[form]}",
            f"--to={_WRITES}",
            "--wrap=none",
            "--markdown-headings=atx",
            "--quiet",
            f"--template={_TEMPLATE}",
            f"--variable=end:{_END}",
        ],
        content,
        limits,
    )
    title, authors, text = written.decode("utf-8", "replace").replace("\0", "").split(_END, 2)
    markdown = text.lstrip("\n")
    if not any(map(str.isalnum, markdown)):
        raise DocumentError("it holds no text")
    return ConvertedDocument(
        format=form,
        converter=f"pandoc {version}",
        markdown=markdown,
        headings_by="document: it has its own headings",
        **described_by(title, authors),
    )


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"byte {error.start} is not UTF-8; save it as UTF-8") from None


def _as_it_is(content: bytes, form: DocumentFormat) -> ConvertedDocument:
    text = _text(content)
    if "\0" in text or not any(map(str.isalnum, text)):
        raise DocumentError("it holds no text")
    return ConvertedDocument(format=form, converter="ragq", markdown=text, headings_by="document: it is text")


def _refuse_bomb(content: bytes, limits: ProcessLimits) -> None:
    most = _LARGEST_GROWTH * limits.output_mb * 1_000_000
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > most:
        raise takes_too_much(f"{unpacked / 1e6:,.0f} MB unpacked")


@cache
def _pandoc() -> tuple[str, str]:
    """Its path and its version."""
    if find_spec("pypandoc") is None:
        raise Refused(_READERS_MISSING)
    import pypandoc

    return str(Path(pypandoc.__file__).parent / "files/pandoc"), str(pypandoc.get_pandoc_version())
