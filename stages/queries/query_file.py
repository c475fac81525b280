"""Parser of query files: one JSON object a line."""

from typing import Annotated, Final, NamedTuple, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from schemas.values.query_sets import SubmittedQuery
from stages.files.problems import Parsed
from stages.files.records import NumberAsText, parse_records
from stages.texts.storable_field import Storable

MAX_CHARS: Final = 2000
"""Of the text of a query."""

MAX_REFERENCE_CHARS: Final = 20_000
"""Of a reference answer."""

_WHAT_TO_DO: Final = f'write {{"_id": "...", "text": "..."}} on one line, with at most {MAX_CHARS} characters of text'


class QueryFile(NamedTuple):
    """The content of a query file."""

    queries: tuple[SubmittedQuery, ...]
    left_out_keys: tuple[str, ...]
    """Keys of any line that are not used, by name."""


_Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Storable, NumberAsText]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CHARS), Storable]
_Reference = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REFERENCE_CHARS), Storable
]


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: _Id = Field(validation_alias=AliasChoices("_id", "id"))
    text: _Text = Field(validation_alias=AliasChoices("text", "query"))

    reference_answer: _Reference | None = None

    @model_validator(mode="after")
    def _each_is_given_once(self) -> Self:
        if {"id", "query"} & (self.model_extra or {}).keys():
            raise PydanticCustomError("given_twice", "Only one of _id and id is allowed, and one of text and query")
        return self


def parse_queries(data: bytes, *, file: str) -> Parsed[QueryFile]:
    r"""Read the queries of a JSONL file: an id under `_id` or `id`, the text under `text` or `query`.

    A reference answer under `reference_answer` is what answers are compared with. A number as id becomes its digits.
    Blank lines and other keys are not used; the keys are listed. Problems name the line, never its content.

    >>> parse_queries(b'{"_id": "7", "text": "Why is the sky blue?"}\n', file="q.jsonl").value.queries[0].external_id
    '7'
    """
    lines, problems = parse_records(
        lambda _, text: _Line.model_validate_json(text), data, file=file, what_to_do=_WHAT_TO_DO
    )
    queries = tuple(
        SubmittedQuery(external_id=line.id, text=line.text, reference_answer=line.reference_answer) for line in lines
    )
    left_out = {key for line in lines for key in line.model_extra or ()}
    return Parsed(QueryFile(queries, tuple(sorted(left_out))), problems)
