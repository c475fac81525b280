"""Works from files on this machine."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from cli.corpus_files import read_corpora
from cli.user_files import FileRefused, read_file
from schemas.errors import Refused, WorkFileError
from services.work_files import ReadFiles, WorkFile, read_files
from stages.corpora.corpus_file import SUFFIX
from stages.documents.formats import SUFFIXES, is_markdown


class FoundFiles(NamedTuple):
    """Files to import, each once, in the order of their paths."""

    markdown: list[Path]
    documents: list[Path]
    """Files of other formats, which are converted first."""
    corpora: list[Path]
    """Files that hold a work in each line."""
    left_out: Counter[str]
    """How many files of the folders have each other ending. Hidden ones do not count."""


def find_files(paths: Sequence[Path], *, may_be_empty: bool = False) -> FoundFiles:
    """The files that were named, and those of a known suffix in folders that were.

    A corpus in one file has to be named itself: other files of its folder look like it. Raises Refused, naming each,
    for paths that are not there, and folders without a file of a known suffix unless they may be empty.
    """
    problems: list[str] = []
    found: list[Path] = []
    others: set[Path] = set()
    for path in paths:
        inside = _files(path)
        works = [file for file in inside if not path.is_dir() or file.suffix.lower() in SUFFIXES]
        others |= {file for file in set(inside) - set(works) if not _is_hidden(file, path)}
        if not path.exists():
            problems.append(f"{path}: there is no such file or folder")
        elif path.is_dir() and not works and not may_be_empty:
            problems.append(f"{path}: holds no file that ends in {' or '.join(SUFFIXES)}{_corpus_in(inside)}")
        found += works
    if problems:
        raise Refused("Nothing was imported:\n" + "\n".join(f"  {problem}" for problem in problems))
    files = list(dict.fromkeys(found))
    corpora = [file for file in files if file.suffix.lower() == SUFFIX]
    return FoundFiles(
        [file for file in files if is_markdown(file.name)],
        [file for file in files if not is_markdown(file.name) and file not in corpora],
        corpora,
        Counter(file.suffix.lower() for file in sorted(others)),
    )


def left_out_in_words(left_out: Mapping[str, int]) -> str:
    """The files of folders that are no works.

    >>> left_out_in_words({".doc": 2, "": 1})
    'Left out for their endings: 2 .doc, 1 without one.'
    """
    counted = ", ".join(f"{count} {suffix or 'without one'}" for suffix, count in left_out.items())
    return f"Left out for their endings: {counted}."


def read_works(files: FoundFiles, *, given: Mapping[str, Any]) -> ReadFiles:
    """The works in files of markdown and in corpora. `given` are fields of Bibliography before the front matter.

    Raises WorkFilesError where none of them can be a work and no other file is there, and what `read_corpora` raises.
    """
    unread: dict[Path, FileRefused] = {}
    of_files, of_lines = _contents(files.markdown, unread, given), read_corpora(files.corpora, given=given)
    read = read_files([*of_files, *of_lines])
    for file, error in unread.items():
        read.refuse(WorkFileError(str(file), f"{error.found}; {error.remedy}."))
    return read if read.works or read.documents or files.documents else read.readable()


def read_documents(files: Sequence[Path], read: ReadFiles, *, given: Mapping[str, Any]) -> Iterator[WorkFile]:
    """The files that can be documents, each read when it is its turn: all of them may be more than memory has.

    The others are noted as refused.
    """
    unread: dict[Path, FileRefused] = {}
    yield from chain(read.documents, read.documents_in(_contents(files, unread, given)))
    for file, error in unread.items():
        read.refuse(WorkFileError(str(file), f"{error.found}; {error.remedy}."))


def _contents(files: Sequence[Path], unread: dict[Path, FileRefused], given: Mapping[str, Any]) -> Iterator[WorkFile]:
    """Each file that can be read; the others are noted in `unread`."""
    for file in files:
        try:
            content = read_file(file)
        except FileRefused as error:
            unread[file] = error
        else:
            yield WorkFile(str(file), content, str(file.resolve()), given)


def _corpus_in(files: Sequence[Path]) -> str:
    """What to do with a folder that has a corpus in one file."""
    found = next((file for file in files if file.name == f"corpus{SUFFIX}"), None)
    return "" if found is None else f"; `ragq import works {found}` imports that corpus"


def _files(path: Path) -> list[Path]:
    """A file, or those of a folder in the order of their paths; none where there is nothing."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path] if path.is_file() else []


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)
