"""The table of contents of an EPUB, read in a process of its own: `python -m adapters.epub_toc < book.epub`.

Writes a JSON array of entries with `level` and `title`, which is empty where the book has no such table. The table is
the navigation document of the book, else its NCX.
"""

import io
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser

_LARGEST = 10_000_000
_MOST_ENTRIES = 20_000
_NAMED = re.compile(r"(?:nav|toc)[^/]{0,100}\.x?html?$", re.IGNORECASE)


def main() -> None:
    """Read an EPUB on stdin."""
    try:
        with zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())) as archive:
            entries = next((found for found in map(_entries, _tables(archive)) if found), [])
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
        # pandoc reads the same archive, and says what it cannot read.
        entries = []
    json.dump([{"level": level, "title": title} for level, title in entries], sys.stdout)


def _tables(archive: zipfile.ZipFile) -> Iterator[str]:
    files = [entry for entry in archive.infolist() if entry.file_size <= _LARGEST]
    pages = [entry for entry in files if _NAMED.search(entry.filename)]
    for entry in [*pages, *(entry for entry in files if entry.filename.endswith(".ncx"))]:
        yield archive.read(entry).decode("utf-8", "replace")


def _entries(table: str) -> list[tuple[int, str]]:
    reader = _Reader()
    reader.feed(table)
    return [(level, " ".join(title.split())) for level, title in reader.found[:_MOST_ENTRIES] if title.strip()]


class _Reader(HTMLParser):
    """Reads both forms: links in lists (navigation document), and points with labels (NCX)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._is_toc = False
        self._depth = 0
        self._is_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        match tag:
            case "nav":
                self._is_toc = "toc" in (dict(attrs).get("epub:type") or "").split()
            case "navmap":
                self._is_toc = True
            case "navpoint" | "ol":
                self._depth += self._is_toc
            case "navlabel" | "a" | "span" if self._is_toc and self._depth and not self._is_title:
                self._is_title = True
                self.found.append((self._depth, ""))

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "nav" | "navmap":
                self._is_toc = False
            case "navpoint" | "ol":
                self._depth -= self._is_toc
            case "navlabel" | "a" | "li":
                self._is_title = False

    def handle_data(self, data: str) -> None:
        if self._is_title:
            level, title = self.found[-1]
            self.found[-1] = (level, title + data)


if __name__ == "__main__":
    main()
