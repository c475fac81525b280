"""Works before they are cut: their bibliographic fields, and a corpus in one file."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Final, NamedTuple, Protocol

import numpy as np
import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from schemas.errors import Refused, WorkChangedError, WorkFileError
from schemas.suggestions import did_you_mean
from schemas.values.base import NumberAsText, Storable
from schemas.values.documents import Bibliography, CorpusChunk, WorkFilter
from stages.corpora.blocks import BlockKind, MarkdownDocument
from stages.ports import Embedder, TextVectors
from stages.records import Parsed, numbered_lines, parse_records
from stages.vectors import unit_vectors

_LONGEST_FRONT_MATTER: Final = 64_000
_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|big|br|cite|code|em|font|i|img|mark|p|s|small|span|strong|sub|sup|tt|u)\b[^<>]*>", re.IGNORECASE
)
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,30});")


class _PlainLoader(yaml.BaseLoader):
    """Without aliases, a few of which can stand for millions of characters. Every scalar stays text, an ISBN too."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "an alias", mark)
        return super().compose_node(parent, index)


def bibliography(document: MarkdownDocument, *, given: Mapping[str, Any], file_name: str) -> Bibliography:
    """The fields of a work: given values override its front matter.

    A title is text: tags of HTML are removed from it. Without a title there, it is the first heading of level 1, else
    the file name without its suffix. Keys of the front matter that are not fields of Bibliography are ignored; `author`
    is read as `authors`, and a list of authors is joined by commas. Raises WorkFileError when the front matter is not a
    YAML mapping without aliases, is longer than 64,000 characters, or has an invalid value.
    """
    found = front_matter(document.front_matter, file_name)
    named = {"authors": found.get("author"), **found}
    fields = {name: _value(value) for name, value in named.items() if name in Bibliography.model_fields}
    fields = {name: value for name, value in fields.items() if value is not None} | dict(given)
    if isinstance(fields.get("title"), str):
        fields["title"] = _text(fields["title"])
    if not fields.get("title"):
        first_level = (block.text for block in document.blocks if block.kind is BlockKind.HEADING and block.level == 1)
        fields["title"] = next(filter(None, first_level), PurePath(file_name).stem)
    try:
        return Bibliography.model_validate(fields)
    except ValidationError as error:
        wrong = "; ".join(f"{problem['loc'][0]}: {problem['msg']}" for problem in error.errors(include_input=False))
        raise WorkFileError(file_name, f"its front matter cannot be used: {wrong}.") from None


def front_matter(text: str, file_name: str) -> dict[str, Any]:
    """The front matter of a work. Raises WorkFileError as `bibliography` does."""
    if len(text) > _LONGEST_FRONT_MATTER:
        problem = f"its front matter has more than {_LONGEST_FRONT_MATTER} characters; shorten it."
        raise WorkFileError(file_name, problem)
    line: int | None = 1
    found: Any = text
    try:
        found = yaml.load(text, Loader=_PlainLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 2
    if found is None or isinstance(found, dict):
        return found or {}
    raise WorkFileError(
        file_name,
        "the front matter is not YAML without aliases, of `key: value` lines; correct it, or put a blank line before a "
        "first line of dashes that does not start front matter.",
        line=line,
    )


def _value(value: Any) -> Any:
    match value:
        case list() if all(isinstance(part, str) for part in value):
            return ", ".join(value)
        case str():
            return value.strip() or None
    return value


def _text(title: str) -> str:
    words = _ENTITY.sub(lambda found: html.unescape(found[0]), _TAG.sub("", title))
    return " ".join(words.split()).removesuffix("¶").rstrip()


SUFFIX: Final = ".jsonl"

MAX_ID_CHARS: Final = 200

_WHAT_TO_DO: Final = (
    f'write {{"_id": "...", "title": "...", "text": "..."}} on one line, with at most {MAX_ID_CHARS} characters of id'
)


class CorpusLine(BaseModel):
    """A document of a corpus file."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID_CHARS, pattern=r"^[^\r\n]*$"),
        Storable,
        NumberAsText,
    ] = Field(validation_alias=AliasChoices("_id", "id"))
    title: Annotated[str, Storable] = ""
    text: Annotated[str, Storable] = ""

    @property
    def markdown(self) -> str:
        """Its title as a heading, and its text; a title alone is the text. Empty without both."""
        title, text = " ".join(self.title.split()), self.text.strip()
        if title and text:
            return f"# {title}\n\n{text}\n"
        # An empty first line: what begins with --- is no front matter.
        return f"\n{title or text}\n" if title or text else ""

    @property
    def left_out_keys(self) -> set[str]:
        """Keys that hold something and are not used."""
        return {key for key, value in (self.model_extra or {}).items() if value}


def parse_corpus(data: bytes, *, file: str) -> Parsed[tuple[CorpusLine, ...]]:
    r"""Read the documents of a JSONL file: an id under `_id` or `id`, `title` and `text`. Blank lines are not used.
    Problems name the line, never its content.

    >>> parse_corpus(b'{"_id": "7", "title": "Tea", "text": "A drink."}\n', file="c.jsonl").value[0].markdown
    '# Tea\n\nA drink.\n'
    """
    read = numbered_lines(data, file=file, what_to_do=_WHAT_TO_DO)
    return parse_records(CorpusLine.model_validate_json, read, file=file, what_to_do=_WHAT_TO_DO)


_LINK_TARGET = re.compile(r"\]\([^)\s]{0,2000}(?:\s{1,10}\"[^\"]{0,500}\")?\)")
"""Of limited length: without an end, each of many beginnings would be followed to the end of the text."""


class Measure(Protocol):
    """Measures texts. The length of texts joined by spaces is the sum of their lengths."""

    def length(self, text: str) -> int:
        """The length of a text without line ends."""

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """A text that may be longer than `most` in pieces that are not, in order."""

    def around(self, headings: str | None) -> int:
        """What a chunk under this path of headings has in addition to its content."""


class Words:
    """Words of the content; headings do not count."""

    def length(self, text: str) -> int:
        """The number of words, without link targets; a word has at least one letter or digit.

        >>> Words().length("- see [the **leaf**](http://example.org/a/b) - twice")
        4
        """
        return sum(any(map(str.isalnum, part)) for part in _LINK_TARGET.sub("]", text).split())

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """Parts between spaces are counted, whether or not they are words."""
        parts = text.split(" ")
        if len(parts) <= most:
            yield text
            return
        for start in range(0, len(parts), most):
            yield " ".join(parts[start : start + most])

    def around(self, headings: str | None) -> int:
        """Nothing."""
        return 0


async def embed_chunks(
    chunks: Sequence[CorpusChunk], *, embedder: Embedder, dimension: int, embeds_headings: bool, timeout_s: float
) -> TextVectors:
    """One row per chunk, as `unit_vectors` gives it; none without chunks. A chunk is embedded below its path of
    headings if the corpus embeds headings."""
    if not chunks:
        return TextVectors(np.empty((0, dimension), dtype=np.float32))
    texts = []
    for chunk in chunks:
        has_headings = embeds_headings and chunk.heading_breadcrumbs
        texts.append(f"{chunk.heading_breadcrumbs}\n{chunk.content}" if has_headings else chunk.content)
    return await unit_vectors(texts, embedder=embedder, timeout_s=timeout_s, dimension=dimension)


class WorkText(NamedTuple):
    """The stored markdown of a work."""

    content_hash: str
    """SHA-256 of the markdown."""
    lines: Sequence[str]
    """Without line ends; line numbers start at 1."""
    page_lines: Sequence[int] = ()
    """The line at which each page begins; empty for a work without pages."""


def refuse_changed(works: Mapping[int, WorkText], hashes: Mapping[int, str]) -> None:
    """Raise WorkChangedError for the first work that is deleted or has another hash than the given one."""
    for work_id, content_hash in sorted(hashes.items()):
        if work_id not in works or works[work_id].content_hash != content_hash:
            raise WorkChangedError(work_id)


FIELDS: Final = ("author", "title", "tag", "year")

_CONDITION: Final = re.compile(r"(\w+)\s*(>=|<=|=)\s*(.*)", re.DOTALL)
_YEARS: Final = {"=": ("year_from", "year_to"), ">=": ("year_from",), "<=": ("year_to",)}


def work_filter(conditions: Iterable[str]) -> WorkFilter:
    """The filter that all conditions together make. Raises Refused for a condition that cannot be read, an unknown
    field, one that is given twice, and a value that cannot be used.

    >>> str(work_filter(["author=Leaf", "year>=2001", "year<=2010"]))
    'author=Leaf, year>=2001, year<=2010'
    """
    fields: dict[str, Any] = {}
    for condition in conditions:
        for name, value in _fields(condition).items():
            if name in fields:
                raise Refused(f"Works are filtered by `{name.replace('_', ' ')}` twice; give each condition once.")
            fields[name] = value
    try:
        return WorkFilter(**fields)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        field = problem["loc"][0] if problem["loc"] else "year"
        message = problem["msg"].removeprefix("Value error, ")
        raise Refused(f"Works cannot be filtered by this {str(field).replace('_', ' ')}: {message}.") from None


def _fields(condition: str) -> dict[str, Any]:
    found = _CONDITION.fullmatch(condition.strip())
    if found is None:
        raise Refused(
            "Conditions on works are written like author=Leaf, title=tea, tag=green, year=2001, year>=2001 or "
            "year<=2010."
        )
    name, sign, value = found[1][:50], found[2], found[3]
    if name not in FIELDS:
        known = ", ".join(FIELDS)
        raise Refused(f"Works have no field '{name}' to filter by; there are {known}.{did_you_mean(name, FIELDS)}")
    if name != "year":
        if sign != "=":
            raise Refused(f"`{name}` is compared by =, as in {name}=tea; only year takes {sign}.")
        return {name: value}
    if not re.fullmatch(r"-?[0-9]{1,4}", value):
        raise Refused("A year is a whole number, as in year>=2001.")
    return dict.fromkeys(_YEARS[sign], int(value))
