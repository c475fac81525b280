"""Works from files of markdown, wherever the files come from."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from schemas.errors import WorkFileError, WorkFilesError
from schemas.values.corpora import Bibliography
from stages.corpora.bibliography import bibliography
from stages.corpora.blocks import MarkdownDocument, read_markdown
from stages.corpora.lines import passage
from stages.texts.storable import can_be_stored

MARKDOWN: Final = (".md", ".markdown")

#: The end of the message for a file of another kind.
CONVERT: Final = (
    "is no markdown; convert it first (pandoc does EPUB, docling PDF) and look whether its headings came along"
)


class WorkFile(NamedTuple):
    """A file that is to become a work."""

    name: str
    """Shown in messages. Without its suffix the title of a work that has no other."""
    content: bytes
    source_path: str
    """Identifies the work: another file of the same source replaces it."""
    fields: Mapping[str, Any] = {}
    """Fields of Bibliography that override the front matter."""


class ReadWork(NamedTuple):
    """A file that can be a work, before it is cut."""

    bibliography: Bibliography
    source_path: str
    markdown: str
    document: MarkdownDocument


def is_markdown(name: str) -> bool:
    """Whether a file of this name is taken for markdown."""
    return PurePath(name).suffix.lower() in MARKDOWN


def read_works(files: Sequence[WorkFile]) -> list[ReadWork]:
    """The works in files.

    Raises WorkFilesError with every file that is no markdown, is not UTF-8, is empty, or has front matter that cannot
    be used.
    """
    problems: dict[int, WorkFileError] = {}
    works: list[ReadWork] = []
    for place, file in enumerate(files):
        try:
            works.append(_read_work(file))
        except WorkFileError as error:
            problems[place] = error
    if problems:
        raise WorkFilesError(problems)
    return works


def _read_work(file: WorkFile) -> ReadWork:
    if not is_markdown(file.name):
        raise WorkFileError(file.name, CONVERT)
    try:
        markdown = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkFileError(file.name, f"byte {error.start} is not UTF-8; save it as UTF-8.") from None
    if "\0" in markdown:
        raise WorkFileError(file.name, "holds a NUL character; is it text at all?")
    document = read_markdown(markdown)
    described = bibliography(document, given=file.fields, file_name=file.name)
    if not all(can_be_stored(str(text)) for text in (file.source_path, *described.model_dump().values())):
        raise WorkFileError(file.name, "its name or its front matter has a character that no text has; remove it.")
    if not any(passage(document.lines, block.start_line, block.end_line).strip() for block in document.blocks):
        raise WorkFileError(file.name, "holds no text.")
    return ReadWork(described, file.source_path, markdown, document)
