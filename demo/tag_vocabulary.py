"""Forty tags for pictures, for trying phrases."""

from importlib import resources
from pathlib import Path

from demo.files import write_files


def write_tag_vocabulary(directory: Path) -> list[str]:
    """Write the files of the vocabulary and return their names. Raises Refused if the folder has any other file."""
    files = sorted((resources.files("demo") / "vocabulary").iterdir(), key=lambda file: file.name)
    write_files(directory, {file.name: file.read_bytes() for file in files})
    return [file.name for file in files]
