"""PDFs converted by docling, as far as it and its models are here."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from adapters.docling_converter import DoclingConverter
from adapters.documents import convert
from adapters.limited_process import ProcessLimits
from schemas.errors import DoclingMissingError
from stages.documents.formats import DocumentFormat
from tests.adapters.pdfs import GREEN, pages_of

LIMITS = ProcessLimits(300, 1500, 20)
MODELS = os.environ.get("RAGQ_DOCLING_MODELS")
needs_docling = pytest.mark.skipif(find_spec("docling") is None, reason="docling is not installed: ragq[docling]")


@pytest.mark.skipif(find_spec("docling") is not None, reason="docling is installed")
async def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(DoclingMissingError, match=r"pip install 'ragq\[docling\]'"):
        await DoclingConverter(Path("/models"), memory_mb=8000)(b"", LIMITS)


@needs_docling
@pytest.mark.parametrize("folder", [None, "none", ""], ids=["not named", "not there", "empty"])
async def test_models_that_are_missing_are_named(folder: str | None, tmp_path: Path) -> None:
    converter = DoclingConverter(None if folder is None else tmp_path / folder, memory_mb=8000)
    with pytest.raises(DoclingMissingError, match="docling-tools models download layout tableformer -o FOLDER"):
        await convert(pages_of(GREEN), DocumentFormat.PDF, LIMITS, of_pdf=converter)


@needs_docling
@pytest.mark.hub
@pytest.mark.skipif(MODELS is None, reason="the models of docling are not here: RAGQ_DOCLING_MODELS")
async def test_a_pdf_is_converted_by_the_models() -> None:
    converter = DoclingConverter(Path(MODELS or ""), memory_mb=8000)
    found = await convert(pages_of(GREEN, "", GREEN), DocumentFormat.PDF, LIMITS, of_pdf=converter)

    assert found.converter.startswith("docling ")
    assert found.chosen.markdown.count("Green tea is brewed cool in the morning.") == 2
    assert (found.pages, len(found.chosen.page_lines), found.cleaned.pages_without_text) == (3, 3, (2,))
