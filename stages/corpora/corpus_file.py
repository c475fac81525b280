"""Parser of a corpus in one file: one JSON object a line, as BEIR's test collections have it."""

from typing import Annotated, Final, NamedTuple

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

from stages.files.problems import Parsed
from stages.files.records import NumberAsText, parse_records
from stages.texts.storable_field import Storable

SUFFIX: Final = ".jsonl"

MAX_ID_CHARS: Final = 200

_WHAT_TO_DO: Final = (
    f'write {{"_id": "...", "title": "...", "text": "..."}} on one line, with at most {MAX_ID_CHARS} characters of id'
)


class CorpusFile(NamedTuple):
    """The content of a corpus file."""

    markdown: dict[str, str]
    """The document of each id: its title as a heading, and its text."""
    empty: tuple[str, ...]
    """The ids of documents without a title and a text."""
    left_out_keys: tuple[str, ...]
    """Keys of any line that hold something and are not used, by name."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID_CHARS, pattern=r"^[^\r\n]*$"),
        Storable,
        NumberAsText,
    ] = Field(validation_alias=AliasChoices("_id", "id"))
    title: Annotated[str, Storable] = ""
    text: Annotated[str, Storable] = ""


def parse_corpus(data: bytes, *, file: str) -> Parsed[CorpusFile]:
    r"""Read the documents of a JSONL file: an id under `_id` or `id`, `title` and `text`.

    A title alone is the text. Blank lines are not used. Problems name the line, never its content.

    >>> parse_corpus(b'{"_id": "7", "title": "Tea", "text": "A drink."}\n', file="c.jsonl").value.markdown
    {'7': '# Tea\n\nA drink.\n'}
    """
    lines, problems = parse_records(
        lambda _, text: _Line.model_validate_json(text), data, file=file, what_to_do=_WHAT_TO_DO
    )
    markdown = {line.id: _markdown(" ".join(line.title.split()), line.text.strip()) for line in lines}
    empty = tuple(name for name, text in markdown.items() if not text)
    left_out = {key for line in lines for key, value in (line.model_extra or {}).items() if value}
    documents = {name: text for name, text in markdown.items() if text}
    return Parsed(CorpusFile(documents, empty, tuple(sorted(left_out))), problems)


def _markdown(title: str, text: str) -> str:
    if title and text:
        return f"# {title}\n\n{text}\n"
    # An empty first line: what begins with --- is no front matter.
    return f"\n{title or text}\n" if title or text else ""
