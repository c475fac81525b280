"""Files of a folder that an import does not read: each is named, because its name may be misspelt."""

from collections.abc import Collection
from pathlib import Path

from cli.output import draw
from schemas.suggestions import nearest
from stages.texts.listed import listed


def tell_unread(folder: Path, known: Collection[str]) -> None:
    """Print on stderr the files of a folder whose names are not known, with the absent one that each is near to.

    Hidden files and sub-folders are not named.
    """
    there = {path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    if unread := sorted(there - {*known}):
        absent = [name for name in known if name not in there]
        meant = ((name, nearest(name, absent)) for name in unread)
        named = [f"{name} (is it {other}?)" if other else name for name, other in meant]
        draw(f"Not read: {listed(named)}.", err=True)
