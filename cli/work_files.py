"""Works from files of markdown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas.errors import Refused
from stages.corpora.bibliography import bibliography
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import cut_work
from store.corpora.works import NewWork

MARKDOWN = (".md", ".markdown")


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files that were named, and the markdown files in folders that were, in the order of their paths.

    Raises Refused, naming each, for paths that are not there, files that are no markdown, and folders without any.
    """
    problems: list[str] = []
    found: list[Path] = []
    for path in paths:
        inside = _inside(path)
        if not path.exists():
            problems.append(f"{path}: there is no such file or folder")
        elif path.is_dir() and not inside:
            problems.append(f"{path}: holds no file that ends in {' or '.join(MARKDOWN)}")
        elif path.is_file() and path.suffix.lower() not in MARKDOWN:
            problems.append(
                f"{path}: is no markdown; convert it first (pandoc does EPUB, docling PDF) and look whether its "
                "headings came along"
            )
        found += inside
    if problems:
        raise Refused("Nothing was imported:\n" + "\n".join(f"  {problem}" for problem in problems))
    return list(dict.fromkeys(found))


def read_works(files: Sequence[Path], *, given: Mapping[str, Any]) -> list[NewWork]:
    """The works in files, cut into chunks. `given` are fields of Bibliography that go before the front matter.

    Raises Refused with every file that is not UTF-8, is empty, or has front matter that cannot be used.
    """
    problems: list[str] = []
    works: list[NewWork] = []
    for file in files:
        try:
            works.append(_read_work(file, given))
        except Refused as error:
            problems.append(str(error))
    if problems:
        raise Refused("Nothing was imported:\n" + "\n".join(f"  {problem}" for problem in problems))
    return works


def _inside(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and file.suffix.lower() in MARKDOWN)
    return [path] if path.is_file() else []


def _read_work(file: Path, given: Mapping[str, Any]) -> NewWork:
    try:
        markdown = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{file}: byte {error.start} is not UTF-8; save it as UTF-8.") from None
    if "\0" in markdown:
        raise Refused(f"{file}: holds a NUL character; is it text at all?")
    document = read_markdown(markdown)
    described = bibliography(document, given=given, file_name=str(file))
    chunks = cut_work(document, title=described.title)
    if not chunks:
        raise Refused(f"{file}: holds no text.")
    return NewWork(bibliography=described, source_path=str(file.resolve()), markdown=markdown, chunks=chunks)
