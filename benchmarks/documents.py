"""Documents converted to markdown: their headings and text beside those that are known, and what that takes."""

import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from adapters.documents import convert
from adapters.limited_process import ProcessLimits
from benchmarks.document_books import WRITTEN, Book, Known, books_of, headings_of, key_of, text_of, words_of
from benchmarks.document_search import STAGES, Searched, by_book, judged, search, sections_of
from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import SETS, Document, data_folder, documents_of, public_set
from benchmarks.stack import stack
from schemas.errors import DocumentError
from schemas.values.documents import ConvertedDocument, Variant
from stages.documents.formats import format_of
from stages.documents.outline import outline
from stages.documents.repair import DEEPEST, repair_by_rules, sanitise

PACKAGES: Final = ("ragq", "pypandoc-binary", "pypdfium2")
_LIMITS: Final = ProcessLimits(600, 2000, 50)
_SHIFTS: Final = range(-2, 3)
_ORDERED: Final = 3
"""Words that have to follow each other in both texts."""


class Headings(NamedTuple):
    """The headings of a document beside the known ones."""

    known: int
    found: int
    """Those that are not deeper than the known outline."""
    agreed: int
    """Titles that both have, in the same order."""
    levels: int
    """Those of the known level. Levels that differ by the same number everywhere agree: the title of the book may be a
    heading or none."""

    def __add__(self, other: object) -> "Headings":
        assert isinstance(other, Headings)
        return Headings(*(one + another for one, another in zip(self, other, strict=True)))


class Text(NamedTuple):
    """The words of a document beside the known ones, in characters."""

    known: int
    lost: int
    added: int
    """Those that are more often in the document than in the known text."""
    sequences: int
    """Of three known words."""
    kept: int
    """Such sequences that the document has."""

    def __add__(self, other: object) -> "Text":
        assert isinstance(other, Text)
        return Text(*(one + another for one, another in zip(self, other, strict=True)))


class Measured(NamedTuple):
    """Documents of one format, converted in one way."""

    documents: int
    pages: int
    headings: Headings
    text: Text
    seconds: float
    processor_s: float
    peak_mb: float
    """Of the largest process."""
    refused: list[str]
    """Name and reason."""


@click.command(short_help="Documents of each format converted: headings, text, speed and memory")
@click.option(
    "--data",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder of books: files of one name are one book. May be repeated.",
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
@click.option("--search", "searches", is_flag=True, help="Also search the public sections through each format.")
@click.option("--bm25", is_flag=True, help="Search by BM25 alone, without a stack and without embedding.")
@click.option("--books", "most", type=click.IntRange(min=1), help="Only the first books of each folder.")
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), help="Write documents and results here.")
def documents(
    folders: tuple[Path, ...],
    json_file: Path | None,
    searches: bool,
    bm25: bool,
    most: int | None,
    keep: Path | None,
) -> None:
    """Convert books, and compare headings and text with what is known of each.

    A book of markdown is written as EPUB, DOCX, ODT, HTML and RST by pandoc and as PDF by Chromium first. Of other
    books the table of contents of the EPUB is known, else the headings of the HTML, else the outline of the PDF.

    With --search or --bm25 the chapters of psychology in RAGQ_DATA_DIR are converted from each format, cut into the
    sections that their queries are judged by, and searched beside those of the markdown. Without --data that is all.

    Example:

    \b
        python -m benchmarks documents --data ../shared/data/psychology/md
        python -m benchmarks documents --search --json search.json
        python -m benchmarks documents --data ~/debian-books --json documents.json
    """
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as name:
        written = keep or Path(name)
        measured = {
            folder.resolve().name: measure(books_of(folder, written / folder.resolve().name)[:most], keep)
            for folder in folders
        }
        searched = _search(written, most, bm25=bm25) if searches or bm25 else {}
    console = Console(width=140)
    machine = this_machine(PACKAGES)
    console.print(machine.sentence(), highlight=False)
    for folder, by_format in measured.items():
        console.print(_table(folder, by_format))
        for form, found in by_format.items():
            for refused in found.refused:
                console.print(f"{form}: {refused}", highlight=False)
    for name_of_set, by_form in searched.items():
        console.print(_search_table(name_of_set, by_form))
    if json_file is not None:
        content: dict[str, Any] = {
            folder: {
                form: {**found._asdict(), "headings": found.headings._asdict(), "text": found.text._asdict()}
                for form, found in by_format.items()
            }
            for folder, by_format in measured.items()
        }
        content |= {name: {form: one._asdict() for form, one in by_form.items()} for name, by_form in searched.items()}
        json_file.write_text(json.dumps({"machine": machine._asdict(), **content}, indent=2, default=vars) + "\n")


def _search(written: Path, most: int | None, *, bm25: bool) -> dict[str, dict[str, Searched]]:
    data = data_folder()
    sets = {name: public_set(data, name) for name in SETS if name.startswith("psychology")}
    books = books_of(data / "psychology/md", written / "searched")[:most]
    known = [*by_book([*documents_of(next(iter(sets.values())).documents)], [one.known.outline[0][1] for one in books])]
    names = {section.name for sections in known for section in sections}
    by_format: dict[str, list[Document]] = {}
    for form in ("md", *WRITTEN):
        if form in books[0].files:
            by_format[form] = [
                section
                for book, sections in zip(books, known, strict=True)
                for section in sections_of(_markdown(book.files[form]), sections)
            ]
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as folder:
        asked = {name: judged(files, names, Path(folder) / name) for name, files in sets.items()}
        if bm25:
            return search(None, by_format, asked, Path(folder))
        with stack() as running:
            return search(running, by_format, asked, Path(folder) / "asked")


def _markdown(file: Path) -> str:
    content = file.read_bytes()
    converted = asyncio.run(convert(content, format_of(content, file.name), _LIMITS))
    return sanitised(converted, converted.chosen)


def _search_table(name: str, by_form: dict[str, Searched]) -> Table:
    table = Table(title=f"{name}: nDCG@10", title_justify="left")
    for heading in ("", "sections", "BM25", *STAGES, "fused - md", "95 %"):
        table.add_column(heading, justify="left" if not heading else "right")
    for form, found in by_form.items():
        difference = found.to_markdown
        table.add_row(
            form,
            str(found.documents),
            f"{found.bm25:.4f}",
            *(f"{found.ndcg[stage]:.4f}" if stage in found.ndcg else "" for stage in STAGES),
            "" if difference is None or difference.value is None else f"{difference.value:+.4f}",
            "" if difference is None or difference.low is None else f"{difference.low:+.4f} to {difference.high:+.4f}",
        )
    return table


def measure(books: Sequence[Book], keep: Path | None = None) -> dict[str, Measured]:
    """The books in each format; PDF also by each way to find its headings."""
    found: dict[str, Measured] = {}
    for form in sorted({form for book in books for form in book.files} - {"md"}):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            for way, one in alone.submit(_measure, form, books, keep).result().items():
                found[way] = one
    return found


def compared_headings(known: Sequence[tuple[int, str]], found: Sequence[tuple[int, str]]) -> Headings:
    """The headings of two outlines that have the same title, in order, and those of them of the same level."""
    left, right = [key_of(title) for _, title in known], [key_of(title) for _, title in found]
    pairs = [
        (known[block.a + place][0], found[block.b + place][0])
        for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        for place in range(block.size)
    ]
    shift = max(_SHIFTS, key=lambda one: _agreeing(pairs, one))
    deepest = max((level for level, _ in known), default=0) + shift
    deeper = sum(level > deepest for level, _ in found) if deepest < DEEPEST else 0
    return Headings(len(known), len(found) - deeper, len(pairs), _agreeing(pairs, shift))


def _agreeing(pairs: Sequence[tuple[int, int]], shift: int) -> int:
    return sum(level == min(max(wanted + shift, 1), DEEPEST) for wanted, level in pairs)


def compared_texts(known: str, found: str) -> Text:
    """The characters of words that are lost and added, and the sequences of words that are kept."""
    left, right = words_of(known), words_of(found)
    lost, added = Counter(left) - Counter(right), Counter(right) - Counter(left)
    wanted, there = _sequences(left), _sequences(right)
    return Text(
        known=sum(map(len, left)),
        lost=sum(len(word) * count for word, count in lost.items()),
        added=sum(len(word) * count for word, count in added.items()),
        sequences=wanted.total(),
        kept=(wanted & there).total(),
    )


def sanitised(converted: ConvertedDocument, variant: Variant) -> str:
    """The markdown that a document becomes, with the headings of a variant."""
    repairs = repair_by_rules(outline(variant.markdown, converted.toc).headings)
    return sanitise(variant.markdown, repairs, variant.page_lines)[0]


def _sequences(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(_ORDERED)), strict=False))


def _measure(form: str, books: Sequence[Book], keep: Path | None) -> dict[str, Measured]:
    converted: list[tuple[Book, ConvertedDocument]] = []
    refused: list[str] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    for book in books:
        if form not in book.files:
            continue
        content = book.files[form].read_bytes()
        try:
            converted.append((book, asyncio.run(convert(content, format_of(content, book.files[form].name), _LIMITS))))
        except DocumentError as error:
            refused.append(f"{book.name}: {error.problem}")
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    processor_s = sum(
        end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime for start, end in zip(before, after, strict=True)
    )
    ways: dict[str, list[tuple[Book, ConvertedDocument, Variant]]] = {form: []}
    for book, one in converted:
        ways[form].append((book, one, one.chosen))
        for variant in one.variants if form == "pdf" else ():
            ways.setdefault(f"{form} by {variant.name}", []).append((book, one, variant))
    return {
        way: _summed(way, those, seconds, processor_s, after[0].ru_maxrss * 1024 / 1e6, refused, keep)
        for way, those in ways.items()
    }


def _summed(
    way: str,
    those: Sequence[tuple[Book, ConvertedDocument, Variant]],
    seconds: float,
    processor_s: float,
    peak_mb: float,
    refused: list[str],
    keep: Path | None,
) -> Measured:
    headings, text, pages = Headings(0, 0, 0, 0), Text(0, 0, 0, 0, 0), 0
    for book, converted, variant in those:
        markdown = sanitised(converted, variant)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{book.name}.{way.replace(' ', '-')}.md").write_text(markdown, encoding="utf-8")
        headings += compared_headings(book.known.outline, headings_of(markdown))
        text += _compared(book.known, markdown)
        pages += converted.pages or 0
    return Measured(len(those), pages, headings, text, seconds, processor_s, peak_mb, refused)


def _compared(known: Known, markdown: str) -> Text:
    return Text(0, 0, 0, 0, 0) if known.text is None else compared_texts(known.text, text_of(markdown))


def _table(folder: str, by_format: dict[str, Measured]) -> Table:
    table = Table(title=folder, title_justify="left")
    for heading in (
        "",
        "documents",
        "recall",
        "precision",
        "levels",
        "lost",
        "added",
        "in order",
        "documents/s",
        "pages/s",
        "processor s",
        "peak MB",
    ):
        table.add_column(heading, justify="left" if not heading else "right")
    for way, found in by_format.items():
        headings, text = found.headings, found.text
        table.add_row(
            way,
            str(found.documents),
            _share(headings.agreed, headings.known),
            _share(headings.agreed, headings.found),
            _share(headings.levels, headings.agreed),
            _percent(text.lost, text.known),
            _percent(text.added, text.known),
            _share(text.kept, text.sequences),
            *(_speed(found) if " by " not in way else ()),
        )
    return table


def _speed(found: Measured) -> tuple[str, ...]:
    pages = f"{found.pages / found.seconds:.0f}" if found.pages else ""
    each = f"{found.documents / found.seconds:.2f}"
    return each, pages, f"{found.processor_s:.1f}", f"{found.peak_mb:.0f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else ""


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else ""
