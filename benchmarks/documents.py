"""Documents converted to markdown: their headings and text beside those that are known."""

import asyncio
import base64
import json
import re
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

import click
import pypandoc
from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.documents import convert
from adapters.limited_process import ProcessLimits
from benchmarks.common import data_folder, show, show_machine, temporary_folder
from schemas.errors import DocumentError
from stages.corpora.blocks import BlockKind, read_markdown
from stages.documents.outline import format_of, outline, title_key, without_number
from stages.documents.repair import DEEPEST, repair_by_rules, sanitise

#: The formats that a book of markdown is written in.
WRITTEN: Final = ("epub", "docx", "odt", "html", "rst", "pdf")
#: Of the formats of a book, the one whose outline counts; then the next.
_KNOWN: Final = ("md", "epub", "pdf")
_LIMITS: Final = ProcessLimits(600, 2000, 50)
_BROWSER: Final = ("--headless", "--no-sandbox", "--disable-gpu")
_IMAGE: Final = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
_PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
_SHIFTS: Final = range(-2, 3)
_ORDERED: Final = 3
"""Words that have to follow each other in both texts."""

Outline = Sequence[tuple[int, str]]
"""Level and title of each heading, in order."""


class Book(NamedTuple):
    """A book in several formats, and what it has whatever its format."""

    name: str
    files: dict[str, Path]
    """By format."""
    outline: Outline
    text: str | None
    """Its words, in order; None where no format but PDF is there."""


@click.command(short_help="Documents of each format converted: their headings and text")
@click.option(
    "--data",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder of books: files of one name are one book; else psychology of RAGQ_DATA_DIR. May be repeated.",
)
@click.option("--books", "most", type=click.IntRange(min=1), help="Only the first books of each folder.")
def documents(folders: tuple[Path, ...], most: int | None) -> None:
    """Convert books, and compare headings and text with what is known of each.

    A book of markdown is written as EPUB, DOCX, ODT, HTML and RST by pandoc and as PDF by Chromium first. Of other
    books the headings of the EPUB are known, else the outline of the PDF.

    \b
    Example:
        python -m benchmarks documents --books 4
        python -m benchmarks documents --data ~/debian-books
    """
    show_machine("pypandoc-binary", "pypdfium2")
    with temporary_folder() as written:
        for folder in folders or (data_folder() / "psychology" / "md",):
            name = folder.resolve().name
            rows = _rows([*islice(books_of(folder, written / name), most)])
            headings = ("", "documents", "recall", "precision", "levels", "lost", "added", "in order", "s")
            show(name, headings, rows)


def books_of(folder: Path, written: Path) -> Iterator[Book]:
    """The books of a folder: files of one name are one book. One of markdown is written to the other formats first."""
    grouped: dict[str, dict[str, Path]] = {}
    for file in sorted(folder.iterdir()):
        if (form := file.suffix.removeprefix(".")) in ("md", *WRITTEN):
            grouped.setdefault(file.stem, {})[form] = file
    for name, files in grouped.items():
        if "md" in files:
            yield Book(name, files | _write(name, files["md"], written), *_known_of(files["md"].read_text("utf-8")))
        elif "epub" in files:
            yield Book(name, files, *_known_of(_pandoc("--from=epub", "--to=gfm", files["epub"])))
        else:
            yield Book(name, files, _toc(files["pdf"]), None)


def _rows(books: Sequence[Book]) -> Iterator[tuple[object, ...]]:
    for form in sorted({form for book in books for form in book.files} - {"md"}):
        found: Counter[str] = Counter()
        began = time.monotonic()
        for book in books:
            if form in book.files:
                try:
                    found += compared(book, _markdown(book.files[form]))
                except DocumentError as error:
                    click.echo(f"{form}: {book.name}: {error.problem}")
        yield (
            form,
            found["documents"],
            _share(found["agreed"], found["known"]),
            _share(found["agreed"], found["found"]),
            _share(found["levels"], found["agreed"]),
            *(f"{100 * found[part] / max(found['characters'], 1):.2f} %" for part in ("lost", "added")),
            _share(found["kept"], found["sequences"]),
            f"{time.monotonic() - began:.0f}",
        )


def compared(book: Book, markdown: str) -> Counter[str]:
    """The headings and the text of a document beside those of the book.

    Headings that are not deeper than the known ones, and of them those whose titles both have in the same order
    (`agreed`), and those of the known level (`levels`). Levels that differ by the same number everywhere agree: the
    title of the book may be a heading or none. Characters of words that are lost, or more often in the document
    (`added`), and the known sequences of words that the document has (`kept`).
    """
    headings, text = _known_of(markdown)
    pairs = [(book.outline[left][0], headings[right][0]) for left, right in _matches(book.outline, headings)]
    shift = max(_SHIFTS, key=lambda one: _agreeing(pairs, one))
    deepest = max((level for level, _ in book.outline), default=0) + shift
    found = Counter(documents=1, known=len(book.outline), agreed=len(pairs), levels=_agreeing(pairs, shift))
    found["found"] = sum(deepest >= DEEPEST or level <= deepest for level, _ in headings)
    if book.text is not None:
        left, right = _words(book.text), _words(text)
        lost, added = Counter(left) - Counter(right), Counter(right) - Counter(left)
        wanted = _sequences(left)
        found["characters"] = sum(map(len, left))
        found["lost"] = sum(len(word) * count for word, count in lost.items())
        found["added"] = sum(len(word) * count for word, count in added.items())
        found["sequences"], found["kept"] = wanted.total(), (wanted & _sequences(right)).total()
    return found


def _matches(known: Outline, found: Outline) -> list[tuple[int, int]]:
    """The places of headings that have the same title, in order."""
    left, right = [_key(title) for _, title in known], [_key(title) for _, title in found]
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [(block.a + place, block.b + place) for block in blocks for place in range(block.size)]


def _agreeing(pairs: Iterable[tuple[int, int]], shift: int) -> int:
    return sum(level == min(max(wanted + shift, 1), DEEPEST) for wanted, level in pairs)


def _sequences(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(_ORDERED)), strict=False))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def _key(title: str) -> str:
    """What the writings of a title have in common."""
    return title_key(without_number(title)) or title_key(title)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else ""


def _markdown(file: Path) -> str:
    """The markdown that a document becomes."""
    content = file.read_bytes()
    converted = asyncio.run(convert(content, format_of(content, file.name), _LIMITS))
    repaired = repair_by_rules(outline(converted.markdown, converted.toc).headings)
    return sanitise(converted.markdown, repaired, converted.page_lines).markdown


def _known_of(markdown: str) -> tuple[Outline, str]:
    """The headings of markdown, and its words without markup and without the descriptions of pictures."""
    blocks = read_markdown(markdown).blocks
    headings = [(block.level, block.text) for block in blocks if block.kind is BlockKind.HEADING]
    return headings, " ".join(_texts(MarkdownIt("commonmark").enable("table").parse(markdown)))


def _texts(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield "".join(
                child.content if child.type in ("text", "code_inline") else " " * child.type.endswith("break")
                for child in token.children or ()
            )
        elif token.type in ("fence", "code_block"):
            yield token.content


def _toc(file: Path) -> Outline:
    with file.open("rb") as content:
        command = [sys.executable, "-m", "adapters.pdfium"]
        ran = subprocess.run(command, stdin=content, capture_output=True, check=True)
    return [(entry["level"], entry["title"]) for entry in json.loads(ran.stdout)["toc"]]


def _pandoc(*options: str | Path, folder: Path | None = None) -> str:
    pandoc = Path(pypandoc.__file__).parent / "files/pandoc"
    return subprocess.run([pandoc, *options], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


def _write(name: str, markdown: Path, folder: Path) -> dict[str, Path]:
    """Write a book of markdown in the other formats, with a small picture for each that the text names."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}.source.md"
    text = markdown.read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    for path in _IMAGE.findall(text):
        target = (folder / path).resolve()
        if target.is_relative_to(folder.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_PICTURE)
    title = next((title for _, title in _known_of(text)[0]), "")
    files = {form: folder / f"{name}.{form}" for form in WRITTEN}
    for form in WRITTEN[:-1]:
        options = ["--from=gfm", "--standalone", "--quiet", f"--metadata=title:{title}"]
        # A page of which a PDF is printed, and a document, have the title as their first heading already.
        options += ["--variable=title="] if form == "html" else []
        _pandoc(*options, source, "-o", files[form], folder=folder)
    browser = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        click.echo("There is no Chromium, so no PDF.")
        del files["pdf"]
    else:
        printed = [browser, *_BROWSER, f"--print-to-pdf={files['pdf']}", files["html"].resolve().as_uri()]
        subprocess.run(printed, capture_output=True, check=True)
    return files
