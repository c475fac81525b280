"""Books of which an outline and a text are known, in several formats."""

import json
import re
import subprocess
import sys
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from shutil import which
from struct import pack
from typing import Final, NamedTuple

import click
from markdown_it import MarkdownIt

from stages.corpora.blocks import BlockKind, read_markdown
from stages.documents.outline import title_key, without_number

#: The formats that a book of markdown is written in.
WRITTEN: Final = ("epub", "docx", "odt", "html", "rst", "pdf")
#: Of the formats of a book, the one whose outline counts; then the next.
_KNOWN: Final = ("md", "epub", "html", "pdf")
_BROWSER: Final = ("--headless", "--no-sandbox", "--disable-gpu")
_HEADING: Final = re.compile(r"h[1-6]")
_IMAGE: Final = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


class Known(NamedTuple):
    """What a book has, whatever its format."""

    outline: list[tuple[int, str]]
    """Level and title of each heading, in order."""
    text: str | None
    """Its words, in order; None where no format but PDF is there."""


class Book(NamedTuple):
    """A book in several formats."""

    name: str
    files: dict[str, Path]
    """By format."""
    known: Known


def books_of(folder: Path, written: Path) -> list[Book]:
    """The books of a folder: files of one name are one book. One of markdown is written to the other formats first."""
    grouped: dict[str, dict[str, Path]] = {}
    for file in sorted(folder.iterdir()):
        form = file.suffix.removeprefix(".")
        if form in ("md", *WRITTEN):
            grouped.setdefault(file.stem, {})[form] = file
    if not grouped:
        raise click.ClickException(f"{folder} holds no document: {', '.join(('md', *WRITTEN))}.")
    for name, files in grouped.items():
        if "md" in files:
            files |= _write(name, files["md"], written)
    return [Book(name, files, _known(files)) for name, files in grouped.items()]


def headings_of(markdown: str) -> list[tuple[int, str]]:
    """Level and title of each heading of markdown."""
    return [(block.level, block.text) for block in read_markdown(markdown).blocks if block.kind is BlockKind.HEADING]


def text_of(markdown: str) -> str:
    """The words of markdown, without its markup, and without the descriptions of pictures."""
    return " ".join(_text_of(MarkdownIt("commonmark").enable("table").parse(markdown)))


def words_of(text: str) -> list[str]:
    """Words in one writing."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def key_of(title: str) -> str:
    """What the writings of a title have in common."""
    return title_key(without_number(title)) or title_key(title)


def _text_of(tokens: Iterable[object]) -> Iterator[str]:
    for token in tokens:
        kind, children = token.type, token.children  # type: ignore[attr-defined]
        if kind == "inline":
            yield "".join(_inline_text(children or ()))
        elif kind in ("fence", "code_block"):
            yield token.content  # type: ignore[attr-defined]


def _inline_text(children: Iterable[object]) -> Iterator[str]:
    for child in children:
        match child.type:  # type: ignore[attr-defined]
            case "text" | "code_inline":
                yield child.content  # type: ignore[attr-defined]
            case "softbreak" | "hardbreak":
                yield " "


def _known(files: dict[str, Path]) -> Known:
    form = next(form for form in _KNOWN if form in files)
    match form:
        case "md":
            markdown = files["md"].read_text(encoding="utf-8")
            return Known(headings_of(markdown), text_of(markdown))
        case "epub":
            return Known(_toc("adapters.epub_toc", files["epub"]), _text_of_epub(files["epub"]))
        case "html":
            reader = _HtmlReader()
            reader.feed(files["html"].read_text(encoding="utf-8"))
            return Known([(level, " ".join(title.split())) for level, title in reader.headings], " ".join(reader.words))
    return Known(_toc("adapters.pdf_lines", files["pdf"]), None)


def _toc(module: str, file: Path) -> list[tuple[int, str]]:
    with file.open("rb") as content:
        ran = subprocess.run([sys.executable, "-m", module], stdin=content, capture_output=True, check=True)
    found = json.loads(ran.stdout)
    return [(entry["level"], entry["title"]) for entry in (found["toc"] if isinstance(found, dict) else found)]


def _text_of_epub(file: Path) -> str:
    ran = subprocess.run([_pandoc(), "--from=epub", "--to=html", file], capture_output=True, text=True, check=True)
    reader = _HtmlReader()
    reader.feed(ran.stdout)
    return " ".join(reader.words)


class _HtmlReader(HTMLParser):
    """Headings and words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[tuple[int, str]] = []
        self.words: list[str] = []
        self._level = 0
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens a heading, or what is not read."""
        self._unread += tag in ("script", "style", "head")
        if _HEADING.fullmatch(tag):
            self._level = int(tag[1])
            self.headings.append((self._level, ""))

    def handle_endtag(self, tag: str) -> None:
        """Closes it."""
        self._unread -= tag in ("script", "style", "head")
        if _HEADING.fullmatch(tag):
            self._level = 0

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._unread:
            return
        self.words.append(data)
        if self._level:
            level, title = self.headings[-1]
            self.headings[-1] = (level, title + data)


def _write(name: str, markdown: Path, folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}.source.md"
    text = markdown.read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    _draw_pictures(_IMAGE.findall(text), folder)
    files = {form: folder / f"{name}.{form}" for form in WRITTEN}
    for form, file in files.items():
        if form != "pdf" and not file.exists():
            options = ["--from=gfm", "--standalone", "--quiet", f"--metadata=title:{_title(text)}"]
            # A page of which a PDF is printed, and a document, have the title as their first heading already.
            options += ["--variable=title="] if form == "html" else []
            subprocess.run([_pandoc(), *options, source, "-o", file], cwd=folder, check=True)
    browser = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        del files["pdf"]
        return files
    printed = [browser, *_BROWSER, f"--print-to-pdf={files['pdf']}", files["html"].resolve().as_uri()]
    if not files["pdf"].exists():
        subprocess.run(printed, capture_output=True, check=True)
    return files


def _title(markdown: str) -> str:
    return next((title for _, title in headings_of(markdown)), "")


def _draw_pictures(paths: Sequence[str], folder: Path) -> None:
    """A small grey picture for each that the text names."""
    rows = b"".join(b"\0" + b"\x80" * 60 for _ in range(40))
    parts = ((b"IHDR", pack(">IIBBBBB", 60, 40, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    drawn = b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    for path in paths:
        target = (folder / path).resolve()
        if target.is_relative_to(folder.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(drawn)


@cache
def _pandoc() -> str:
    import pypandoc

    return str(Path(pypandoc.__file__).parent / "files/pandoc")
