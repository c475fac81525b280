"""Writes a set of files without overwriting any other."""

from collections.abc import Mapping
from pathlib import Path

from schemas.errors import Refused


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their names relative to a folder. Writing the same again changes nothing.

    Raises Refused when the folder holds anything else, and writes nothing then.
    """
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = path.relative_to(directory).as_posix()
        if name not in files or files[name] != path.read_bytes():
            raise Refused(f"{directory} already holds {name}, which is not of this data set. Name a new folder.")
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
