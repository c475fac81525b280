"""A document of docling as markdown, with the lines at which its pages begin."""

import re
import secrets
from typing import Any, NamedTuple

from docling_core.transforms.serializer.base import SerializationResult
from docling_core.transforms.serializer.common import create_ser_result
from docling_core.transforms.serializer.markdown import (
    MarkdownDocSerializer,
    MarkdownParams,
    MarkdownTextSerializer,
)
from docling_core.types.doc import (
    ContentLayer,
    DocItem,
    DocItemLabel,
    DoclingDocument,
    FormulaItem,
    NodeItem,
    TableItem,
    TextItem,
)

from stages.documents.pdf_layout import without_markup

_PLAIN = frozenset({DocItemLabel.TEXT, DocItemLabel.PARAGRAPH, DocItemLabel.CAPTION, DocItemLabel.FOOTNOTE})


class DoclingMarkdown(NamedTuple):
    """A document as markdown."""

    markdown: str
    page_lines: list[int]
    """The line, from 1, at which each page begins."""
    running_lines: int
    """Headers and footers that were left out."""
    contents_lines: int
    """Rows of printed tables of contents that were left out."""


class _Texts(MarkdownTextSerializer):
    """Text is no markup, and a formula that no model read is the text of its place."""

    def serialize(self, *, item: TextItem, **more: Any) -> SerializationResult:
        if isinstance(item, FormulaItem) and not item.text:
            return create_ser_result(text=without_markup(item.orig), span_source=item)
        if item.label in _PLAIN and (plain := without_markup(item.text)) != item.text:
            item = item.model_copy(update={"text": plain})
        return super().serialize(item=item, **more)


class _Serializer(MarkdownDocSerializer):
    """Writes captions of tables after a colon, and where pages begin in lines that no document has."""

    _mark: str = secrets.token_hex(16)

    def serialize_captions(self, item: Any, **more: Any) -> SerializationResult:
        found = super().serialize_captions(item, **more)
        if isinstance(item, TableItem) and found.text:
            return create_ser_result(text=f": {found.text}", span_source=[found])
        return found

    def requires_page_break(self) -> bool:
        return True

    def _create_page_break(self, node: Any) -> str:
        return f"{self._mark} {node.next_page}"

    def _get_page_breaks(self, text: str) -> tuple[()]:
        return ()

    def marked(self) -> re.Pattern[str]:
        """A line that a page begins at, with its number."""
        return re.compile(rf"\s*{self._mark} (\d+)\s*")


def _has_place(item: NodeItem) -> bool:
    return isinstance(item, DocItem) and bool(item.prov)


def docling_markdown(document: DoclingDocument, pages: int) -> DoclingMarkdown:
    """The body of a document: without headers, footers, pictures and printed tables of contents."""
    serializer = _Serializer(
        doc=document,
        text_serializer=_Texts(),
        params=MarkdownParams(
            labels=MarkdownParams().labels - {DocItemLabel.DOCUMENT_INDEX},
            image_placeholder="",
            escape_html=False,
            escape_underscores=False,
            compact_tables=True,
            traverse_pictures=True,
        ),
    )
    marked = serializer.marked()
    lines: list[str] = []
    first = next((item.prov[0].page_no for item, _ in document.iterate_items() if _has_place(item)), 1)
    starts = [1] * first
    is_marked = False
    for line in serializer.serialize().text.split("\n"):
        if (found := marked.fullmatch(line)) is not None:
            starts += [len(lines) + 1] * (int(found[1]) - len(starts))
        elif line or not is_marked or (lines and lines[-1]):
            lines.append(line)
        is_marked = found is not None
    starts += [len(lines) + 1] * (pages - len(starts))
    return DoclingMarkdown(
        markdown="\n".join([*lines, ""]),
        page_lines=starts[:pages],
        running_lines=sum(text.content_layer is ContentLayer.FURNITURE for text in document.texts),
        contents_lines=sum(
            table.data.num_rows for table in document.tables if table.label is DocItemLabel.DOCUMENT_INDEX
        ),
    )
