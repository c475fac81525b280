"""Title and authors that a document has of itself."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import yaml

from stages.corpora.bibliography import PlainLoader
from stages.corpora.blocks import read_markdown
from stages.corpora.lines import lines_of
from stages.texts.storable import storable

_LONGEST: Final = 64_000
_LONGEST_VALUE: Final = 500
#: What programs write where nobody wrote a title.
_NO_TITLE: Final = re.compile(
    r"(?:untitled|microsoft word - |powerpoint|document\d*$|\S+\.(?:docx?|pdf|tex|indd|html?)$)", re.I
)


class Described(NamedTuple):
    """What a document says about itself."""

    title: str | None = None
    authors: str | None = None


def without_metadata(markdown: str) -> tuple[str, Described]:
    """Markdown without its front matter, and what that says; front matter that cannot be read says nothing."""
    front = read_markdown(markdown).front_matter
    if not front:
        return markdown, Described()
    rest = "\n".join(lines_of(markdown)[len(lines_of(front)) + 2 :]).lstrip("\n")
    if len(front) > _LONGEST:
        return rest, Described()
    try:
        found = yaml.load(front, Loader=PlainLoader)
    except (yaml.YAMLError, RecursionError):
        return rest, Described()
    return rest, described_by(found if isinstance(found, dict) else {})


def described_by(found: Mapping[str, Any]) -> Described:
    """Title and authors among the fields of a document; a title that a program invented is none.

    >>> described_by({"title": "Microsoft Word - tea.docx", "creator": [{"text": "A. Leaf"}, "B. Pot"]}).authors
    'A. Leaf, B. Pot'
    """
    title = _text(found.get("title"))
    authors = next(filter(None, (_text(found.get(name)) for name in ("author", "authors", "creator"))), None)
    return Described(None if title is None or _NO_TITLE.match(title) else title, authors)


def _text(value: Any) -> str | None:
    match value:
        case str():
            return " ".join(storable(value).split())[:_LONGEST_VALUE] or None
        case {"text": str(text)}:
            return _text(text)
        case list():
            return ", ".join(filter(None, map(_text, value)))[:_LONGEST_VALUE] or None
    return None
