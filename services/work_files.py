"""Works from files, wherever the files come from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from schemas.errors import DocumentError, WorkFileError, WorkFilesError
from schemas.values.documents import Bibliography
from stages.corpora.blocks import MarkdownDocument, read_markdown
from stages.corpora.lines import passage
from stages.corpora.works import bibliography
from stages.documents.outline import DocumentFormat, format_of, holds_markdown
from stages.texts.characters import can_be_stored, decoded

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


@dataclass
class ReadFiles:
    """Files of an import."""

    works: list[ReadWork] = field(default_factory=list)
    """Those of markdown."""
    documents: list[WorkFile] = field(default_factory=list)
    """Those of other formats, which are converted first."""
    refused: dict[int, WorkFileError] = field(default_factory=dict)
    """Those that cannot be works, by their places among the files, from 0."""
    latin1: list[str] = field(default_factory=list)
    """The names of files of text that are not UTF-8, and were read as Latin-1."""

    def readable(self) -> "ReadFiles":
        """The same. Raises WorkFilesError where any file was refused."""
        if self.refused:
            raise WorkFilesError(self.refused)
        return self

    def refuse(self, error: WorkFileError) -> None:
        """Note a file that cannot be a work, after those that were read as one list."""
        self.refused[max(self.refused, default=-1) + 1] = error

    def documents_in(self, files: Iterable[WorkFile]) -> Iterator[WorkFile]:
        """The files that can be documents, each when it is its turn; the others are noted as refused."""
        for file in files:
            try:
                self._check_document(file)
            except WorkFileError as error:
                self.refuse(error)
            else:
                yield file

    def add(self, file: WorkFile) -> None:
        """Read a file. Raises WorkFileError for one that cannot be a work."""
        if not file.content:
            raise WorkFileError(file.name, EMPTY)
        if holds_markdown(file.content, file.name):
            self.works.append(_read_work(file, self._decoded(file)))
        else:
            self._check_document(file)
            self.documents.append(file)

    def _check_document(self, file: WorkFile) -> None:
        if not file.content:
            raise WorkFileError(file.name, EMPTY)
        try:
            if format_of(file.content, file.name) in (DocumentFormat.TEXT, DocumentFormat.RST):
                self._decoded(file)
        except DocumentError as error:
            raise WorkFileError(file.name, f"{error.problem}.") from None

    def _decoded(self, file: WorkFile) -> str:
        try:
            text, is_latin1 = decoded(file.content)
        except UnicodeDecodeError as error:
            raise WorkFileError(file.name, f"byte {error.start} is not UTF-8; save it as UTF-8.") from None
        if is_latin1:
            self.latin1.append(file.name)
        return text


def read_files(files: Sequence[WorkFile]) -> ReadFiles:
    """The works in files of markdown, and the other files as they are.

    Refused is every file that is empty, of no known format, or of the same source as one before it, and every file of
    text that is neither UTF-8 nor Latin-1, has no text, or has front matter that cannot be used.
    """
    read = ReadFiles()
    named: set[str] = set()
    for place, file in enumerate(files):
        try:
            if file.source_path in named:
                raise WorkFileError(file.name, SAME_NAME)
            named.add(file.source_path)
            read.add(file)
        except WorkFileError as error:
            read.refused[place] = error
    return read


def _read_work(file: WorkFile, markdown: str) -> ReadWork:
    if "\0" in markdown:
        raise WorkFileError(file.name, "holds a NUL character; is it text at all?")
    document = read_markdown(markdown)
    described = bibliography(document, given=file.fields, file_name=file.name)
    if not all(can_be_stored(str(text)) for text in (file.source_path, *described.model_dump().values())):
        raise WorkFileError(file.name, "its name or its front matter has a character that no text has; remove it.")
    if not any(passage(document.lines, block.start_line, block.end_line).strip() for block in document.blocks):
        raise WorkFileError(file.name, "holds no text.")
    return ReadWork(described, file.source_path, markdown, document, file.name, file.fields)
