"""Three short works, on tea, bridges and clocks, for trying a corpus."""

from importlib import resources
from pathlib import Path

from demo.files import write_files


def write_library(directory: Path) -> list[str]:
    """Write the works as markdown files, about 25 KB, and return their names.

    Raises Refused when the folder holds anything else.
    """
    works = sorted((resources.files("demo") / "works").iterdir(), key=lambda work: work.name)
    write_files(directory, {work.name: work.read_bytes() for work in works})
    return [work.name for work in works]
