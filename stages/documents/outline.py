"""The headings of a document, beside its own table of contents."""

import io
import re
import unicodedata
import zipfile
import zlib
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import PurePath
from typing import Final, TypeVar

from schemas.errors import DocumentError, ReplyShapeError
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall, ReaskReason
from schemas.values.documents import DecidedBy, DecidedHeadings, DocumentOutline, Heading, TocEntry
from stages.corpora.blocks import BlockKind, lines_of, read_markdown
from stages.ports import ChatModel
from stages.replies.asking import ask_until_usable, messages_of
from stages.texts.characters import DATA_RULE, listed, storable

_LONGEST_MIMETYPE: Final = 100
_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,999}(?:<\?xml[^>]{0,999}>\s{0,999})?(?:<!--.{0,9999}?-->\s{0,999})?"
    rb"<(?:!doctype\s{1,9}html|html)\b",
    re.IGNORECASE | re.DOTALL,
)


class DocumentFormat(StrEnum):
    """A format that works are imported from."""

    MARKDOWN = "markdown"
    PDF = "pdf"
    EPUB = "epub"
    HTML = "html"
    DOCX = "docx"
    ODT = "odt"
    RST = "rst"
    TEXT = "text"


SUFFIXES: Final = {
    ".md": DocumentFormat.MARKDOWN,
    ".markdown": DocumentFormat.MARKDOWN,
    ".pdf": DocumentFormat.PDF,
    ".epub": DocumentFormat.EPUB,
    ".html": DocumentFormat.HTML,
    ".htm": DocumentFormat.HTML,
    ".xhtml": DocumentFormat.HTML,
    ".docx": DocumentFormat.DOCX,
    ".odt": DocumentFormat.ODT,
    ".rst": DocumentFormat.RST,
    ".txt": DocumentFormat.TEXT,
    ".text": DocumentFormat.TEXT,
}
"""Of the files that are taken from a folder."""

_OF_MIMETYPE: Final = {
    b"application/epub+zip": DocumentFormat.EPUB,
    b"application/vnd.oasis.opendocument.text": DocumentFormat.ODT,
}


def is_markdown(name: str) -> bool:
    """Whether a file of this name is to be markdown."""
    return SUFFIXES.get(PurePath(name).suffix.lower()) is DocumentFormat.MARKDOWN


def format_of(content: bytes, name: str) -> DocumentFormat:
    """The format of a file: of its content, but for text; markdown is what is named so and is no PDF or archive. Raises
    DocumentError for one of no known format.

    >>> [format_of(content, name).value for content, name in ((b"%PDF-1.7", "a.md"), (b"<html>", "a.md"))]
    ['pdf', 'markdown']
    """
    if is_markdown(name) and not content.startswith((b"%PDF-", b"PK\x03\x04")):
        return DocumentFormat.MARKDOWN
    if b"%PDF-" in content[:1024]:
        return DocumentFormat.PDF
    if content.startswith(b"PK\x03\x04"):
        return _format_of_archive(content)
    if _HTML.match(content[:12_000]):
        return DocumentFormat.HTML
    named = SUFFIXES.get(PurePath(name).suffix.lower())
    if b"\0" in content or named is None:
        raise DocumentError(f"its format is none of those that are imported: {', '.join(DocumentFormat)}")
    if named not in (DocumentFormat.HTML, DocumentFormat.RST, DocumentFormat.TEXT):
        raise DocumentError(f"it is named as {named} and is none; correct the name or the file")
    return named


def _format_of_archive(content: bytes) -> DocumentFormat:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = {entry.filename: entry for entry in archive.infolist()}
            if "mimetype" in names and names["mimetype"].file_size <= _LONGEST_MIMETYPE:
                with archive.open("mimetype") as file:
                    found = _OF_MIMETYPE.get(file.read(_LONGEST_MIMETYPE).strip())
                if found is not None:
                    return found
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
        raise DocumentError("it is a damaged archive; get the file again") from None
    if "[Content_Types].xml" in names and any(entry.startswith("word/") for entry in names):
        return DocumentFormat.DOCX
    raise DocumentError("it is an archive and neither EPUB, DOCX nor ODT; unpack it first")


_NUMBER: Final = re.compile(
    r"(?:(?:chapter|part|appendix|section)\s(?:\d{1,4}|[ivxlc]{1,6}|[a-z])|\d{1,4}|[ivxlc]{1,6}(?=[.:)])|[a-z](?=\.))"
    r"(?:\.\d{1,4}){0,6}[.:)]?\s{1,9}",
    re.IGNORECASE,
)
_NOT_WORDS: Final = re.compile(r"[^\w]+")


def title_key(title: str) -> str:
    """What two writings of one title have in common: its letters and digits.

    >>> title_key("Tea  & Leaves") == title_key("tea and leaves".replace("and", "-"))
    True
    """
    return _NOT_WORDS.sub("", unicodedata.normalize("NFKC", title)).casefold()


def without_number(title: str) -> str:
    """A title without the number before it.

    >>> without_number("3.2 Leaves"), without_number("A.1. Pots"), without_number("I drink tea 3 a day")
    ('Leaves', 'Pots', 'I drink tea 3 a day')
    """
    title = title.strip()
    number = _NUMBER.match(title)
    return title if number is None else title[number.end() :]


def outline(markdown: str, toc: Sequence[TocEntry], page_lines: Sequence[int] = ()) -> DocumentOutline:
    """The headings of the markdown, each with the level of the first entry of its title that is still free."""
    free: dict[str, deque[int]] = defaultdict(deque)
    for place, entry in enumerate(toc):
        free[title_key(without_number(entry.title))].append(place)
    headings = []
    for block in read_markdown(markdown).blocks:
        if block.kind is not BlockKind.HEADING:
            continue
        places = free[title_key(without_number(block.text))]
        headings.append(
            Heading(
                line=block.start_line,
                level=block.level,
                text=" ".join(block.text.split()),
                toc_level=toc[places.popleft()].level if places else None,
                page=bisect_right(page_lines, block.start_line) or None,
            )
        )
    missing = tuple(toc[place] for place in sorted(chain.from_iterable(free.values())))
    return DocumentOutline(headings=tuple(headings), missing=missing)


MOST_CHARS: Final = 4_000_000
"""Of a reply."""
SYSTEM: Final = (
    f"You prepare documents for a search engine. You answer with lines of one form and with nothing else. {DATA_RULE}"
)
"""The system message of every call that asks for such a reply."""
_LINE: Final = re.compile(r"\s*(?P<number>[0-9]{1,9})\s*:(?P<word>[^:]*)(?::(?P<text>.*))?", re.DOTALL)
_FENCE: Final = "```"


def heading_lines(raw: str, *, words: Collection[str], headings: Collection[int]) -> dict[int, tuple[str, str]]:
    """The lines of a reply, by the lines of the headings: the word, and what follows the second colon; empty where
    nothing does. Empty lines and code fences are left out.

    Raises ReplyShapeError, without any text of the reply, for a line of another form, for a line of the document
    that is not among `headings`, and for one that occurs twice.

    >>> heading_lines("12 : H2 : Leaves: green and black", words=("H2",), headings=(12,))
    {12: ('H2', 'Leaves: green and black')}
    """
    if len(raw) > MOST_CHARS:
        raise ReplyShapeError(raw, f"it has {len(raw)} characters; {MOST_CHARS} are read at most")
    found: dict[int, tuple[str, str]] = {}
    malformed, unknown, repeated = list[int](), list[int](), list[int]()
    for place, line in enumerate(lines_of(raw), start=1):
        if not line.strip() or line.lstrip().startswith(_FENCE):
            continue
        parts = _LINE.fullmatch(line)
        if parts is None or parts["word"].strip() not in words:
            malformed.append(place)
        elif (named := int(parts["number"])) not in headings:
            unknown.append(named)
        elif named in found:
            repeated.append(named)
        else:
            found[named] = (parts["word"].strip(), " ".join((parts["text"] or "").split()))
    problems = [
        (malformed, f"its lines {{}} have not the form NUMBER : {'|'.join(words)} : TEXT"),
        (unknown, "it names lines that are no heading: {}"),
        (repeated, "it names lines twice: {}"),
    ]
    wrong = [problem.format(listed(places)) for places, problem in problems if places]
    if wrong:
        raise ReplyShapeError(raw, "; ".join(wrong))
    return found


Asked = TypeVar("Asked")
Read = TypeVar("Read")


async def ask_in_parts(
    headings: Sequence[Asked],
    *,
    chat: ChatModel,
    settings: RunSettings,
    most: int,
    purpose: str,
    prompt: Callable[[Sequence[Asked], Sequence[Read]], str],
    read: Callable[[str, Sequence[Asked]], Read],
    form: str,
) -> tuple[list[Read], DecidedHeadings]:
    """What is read in the replies about `most` headings each, in order, and who decided so; asked for as
    `ask_until_usable` does. `prompt` gets a part and what was read about the parts before it."""
    found: list[Read] = []
    reasks: list[ReaskReason] = []
    for first in range(0, len(headings), most):
        part = headings[first : first + most]

        def read_part(raw: str, part: Sequence[Asked] = part) -> Read:
            return read(raw, part)

        call = ChatCall(
            model=settings.document_model,
            messages=messages_of(SYSTEM, prompt(part, found)),
            timeout_s=settings.ollama.timeout_seconds,
            purpose=f"{purpose} {first + 1} to {first + len(part)}",
        )
        usable = await ask_until_usable(call, chat=chat, read=read_part, form=form, retries=settings.ragq.reply_retries)
        found.append(usable.read)
        reasks += usable.reasks
    return found, DecidedHeadings(by=DecidedBy.MODEL, model=settings.document_model, reasks=tuple(reasks))


_LONGEST_VALUE: Final = 500
#: What programs write where nobody wrote a title.
_NO_TITLE: Final = re.compile(
    r"(?:untitled|microsoft word - |powerpoint|document\d*$|\S+\.(?:docx?|pdf|tex|indd|html?)$)", re.I
)


def described_by(title: str, authors: str) -> dict[str, str | None]:
    """Title and authors of a document, each in one line; a title that a program invented is none.

    >>> described_by("Microsoft Word - tea.docx", "A. Leaf")
    {'title': None, 'authors': 'A. Leaf'}
    """
    title, authors = (" ".join(storable(text).split())[:_LONGEST_VALUE] for text in (title, authors))
    return {"title": None if _NO_TITLE.match(title) else title or None, "authors": authors or None}
