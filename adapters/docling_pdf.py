"""A PDF read by the models of docling in a process of its own: `python -m adapters.docling_pdf MODELS < book.pdf`.

Writes one JSON object: the fields of DoclingMarkdown; or `error`, `models` or `damaged`, with the `page` that is. The
models are those of the folder: nothing is fetched.
"""

import io
import json
import os
import sys
import tempfile
from typing import Any


def main() -> None:
    """Read a PDF on stdin."""
    # Libraries may print.
    written, sys.stdout = sys.stdout, sys.stderr
    # A process that may write no file finds no folder for temporary ones, and libraries ask for one when they load.
    tempfile.tempdir = "/nonexistent"
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_DATASETS_OFFLINE="1")
    sys.addaudithook(_without_network)
    json.dump(_read(sys.argv[1], sys.stdin.buffer.read()), written)


def _without_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise OSError("This process has no network.")


def _read(models: str, content: bytes) -> dict[str, Any]:
    from docling.datamodel.accelerator_options import AcceleratorDevice, AcceleratorOptions
    from docling.datamodel.base_models import ConversionStatus, DocumentStream, InputFormat
    from docling.datamodel.pipeline_options import HeadingHierarchyOptions, PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption

    from adapters.docling_markdown import docling_markdown

    options = PdfPipelineOptions(
        artifacts_path=models,
        do_ocr=False,
        generate_parsed_pages=True,
        heading_hierarchy_options=HeadingHierarchyOptions(enabled=True),
        accelerator_options=AcceleratorOptions(device=AcceleratorDevice.CPU, num_threads=len(os.sched_getaffinity(0))),
    )
    converter = DocumentConverter(
        allowed_formats=[InputFormat.PDF], format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)}
    )
    try:
        converter.initialize_pipeline(InputFormat.PDF)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        print(type(error).__name__, file=sys.stderr)
        return {"error": "models"}
    source = DocumentStream(name="document.pdf", stream=io.BytesIO(content))
    result = converter.convert(source, raises_on_error=False)
    if result.status is not ConversionStatus.SUCCESS:
        pages = [error.page_no for error in result.errors if error.page_no is not None]
        return {"error": "damaged", "page": min(pages, default=None)}
    return docling_markdown(result.document, result.input.page_count)._asdict()


if __name__ == "__main__":
    main()
