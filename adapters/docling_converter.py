"""A PDF converted by the models of docling, in a process of its own."""

import json
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from adapters.limited_process import ProcessLimits, run_limited
from adapters.pdfium import read_pdf
from schemas.errors import DoclingMissingError, DocumentError
from schemas.values.documents import Cleaned, ConvertedDocument, Variant
from stages.documents.formats import DocumentFormat


class DoclingConverter:
    """Converts by the models of a folder, on processors, within its own limit of memory."""

    def __init__(self, models: Path | None, *, memory_mb: int) -> None:
        self._models = models
        self._memory_mb = memory_mb

    async def __call__(self, content: bytes, limits: ProcessLimits) -> ConvertedDocument:
        """A PDF as markdown; its outline and metadata, and which pages have no text, are read by PDFium.

        Raises as `adapters.documents.convert` does, and DoclingMissingError without docling or its models.
        """
        if find_spec("docling") is None:
            raise DoclingMissingError("its package is not installed: pip install 'ragq[docling]'")
        if self._models is None or not self._models.is_dir():
            raise DoclingMissingError.without_models(self._models)
        read = await read_pdf(content, limits)
        program = [sys.executable, "-m", "adapters.docling_pdf", str(self._models.absolute())]
        found = json.loads(await run_limited(program, content, limits._replace(memory_mb=self._memory_mb)))
        match found.get("error"):
            case "models":
                raise DoclingMissingError.without_models(self._models)
            case "damaged":
                raise DocumentError("docling cannot read its PDF; is the file damaged?", page=found.get("page"))
        if not any(map(str.isalnum, found["markdown"])):
            raise DocumentError("docling finds no text in it; convert it with RAGQ_PDF_CONVERTER=pdfium")
        return ConvertedDocument(
            format=DocumentFormat.PDF,
            converter=f"docling {metadata.version('docling')}",
            variants=(Variant(name="docling", markdown=found["markdown"], page_lines=tuple(found["page_lines"])),),
            reason="docling finds the headings",
            toc=read.toc,
            pages=len(read.pages),
            cleaned=Cleaned(
                running_lines=found["running_lines"],
                contents_lines=found["contents_lines"],
                pages_without_text=tuple(
                    number
                    for number, page in enumerate(read.pages, start=1)
                    if not any(line.text.strip() for line in page.lines)
                ),
            ),
            title=read.described.title,
            authors=read.described.authors,
        )
