"""Works from files of markdown on this machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.user_files import read_file
from schemas.errors import Refused
from services import work_files
from services.work_files import CONVERT, MARKDOWN, ReadWork, WorkFile, is_markdown


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
        elif path.is_file() and not is_markdown(path.name):
            problems.append(f"{path}: {CONVERT}")
        found += inside
    if problems:
        raise Refused("Nothing was imported:\n" + "\n".join(f"  {problem}" for problem in problems))
    return list(dict.fromkeys(found))


def read_works(files: Sequence[Path], *, given: Mapping[str, Any]) -> list[ReadWork]:
    """The works in files. `given` are fields of Bibliography that go before the front matter.

    Raises WorkFilesError with every file that is not UTF-8, is empty, or has front matter that cannot be used.
    """
    return work_files.read_works([WorkFile(str(file), read_file(file), str(file.resolve()), given) for file in files])


def _inside(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and is_markdown(file.name))
    return [path] if path.is_file() else []
