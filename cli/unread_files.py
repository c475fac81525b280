"""Files of a folder that an import does not read: each is named, because its name may be misspelt."""

from collections.abc import Callable, Mapping
from pathlib import Path

from cli.output import draw
from schemas.suggestions import nearest
from stages.texts.listed import listed


def tell_unread(folder: Path, known: Mapping[str, str], *, hint: Callable[[Path], str | None] | None = None) -> None:
    """Print on stderr the files of a folder that are not read, and what each may have been meant for.

    `known` are the names that are read, and what each has: of those that are absent, the nearest is named. `hint` is
    asked about files that are near to none. Hidden files and sub-folders are not named.
    """
    there = {path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    absent = [name for name in known if name not in there]

    def meant(name: str) -> str | None:
        if other := nearest(name, absent):
            return f"is it {other}, {known[other]}?"
        return None if hint is None else hint(folder / name)

    if unread := sorted(there - {*known}):
        named = [f"{name} ({words})" if (words := meant(name)) else name for name in unread]
        draw(f"Not read: {listed(named)}.", err=True)
