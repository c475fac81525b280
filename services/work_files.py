"""Works from files, wherever the files come from."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from schemas.errors import DocumentError, WorkFileError, WorkFilesError
from schemas.values.corpora import Bibliography
from stages.corpora.bibliography import bibliography
from stages.corpora.blocks import MarkdownDocument, read_markdown
from stages.corpora.lines import passage
from stages.documents.formats import format_of, is_markdown
from stages.texts.storable import can_be_stored

#: Why the second of two files of an import is refused.
SAME_NAME: Final = (
    "another file of this import has the same name, which identifies the work; rename one, or send both with their "
    "folders (teas/tea.md)."
)

EMPTY: Final = "is empty."


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
    name: str
    given: Mapping[str, Any]
    """The fields that override its front matter."""

    @property
    def file(self) -> WorkFile:
        """What was read."""
        return WorkFile(self.name, self.markdown.encode(), self.source_path, self.given)


class ReadFiles(NamedTuple):
    """Files of an import."""

    works: list[ReadWork]
    """Those of markdown."""
    documents: list[WorkFile]
    """Those of other formats, which are converted first."""


def read_files(files: Sequence[WorkFile]) -> ReadFiles:
    """The works in files of markdown, and the other files as they are.

    Raises WorkFilesError with every file that is empty, of no known format, or of the same source as one before it, and
    every file of markdown that is not UTF-8, has no text, or has front matter that cannot be used.
    """
    problems: dict[int, WorkFileError] = {}
    read = ReadFiles([], [])
    named: set[str] = set()
    for place, file in enumerate(files):
        try:
            if file.source_path in named:
                raise WorkFileError(file.name, SAME_NAME)
            named.add(file.source_path)
            if not file.content:
                raise WorkFileError(file.name, EMPTY)
            if is_markdown(file.name):
                read.works.append(_read_work(file))
            else:
                format_of(file.content, file.name)
                read.documents.append(file)
        except WorkFileError as error:
            problems[place] = error
        except DocumentError as error:
            problems[place] = WorkFileError(file.name, error.problem)
    if problems:
        raise WorkFilesError(problems)
    return read


def _read_work(file: WorkFile) -> ReadWork:
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
    return ReadWork(described, file.source_path, markdown, document, file.name, file.fields)
