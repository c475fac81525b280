"""Parser of files of phrase sets: one set a line."""

from functools import partial
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from schemas.repeatable import Repeatable
from schemas.values.tags import PhraseSet
from stages.files.problems import Parsed
from stages.files.records import NumberAsText, parse_repeatedly
from stages.texts.plain_ids import PLAIN_ID
from stages.texts.storable_field import Storable

MAX_PHRASES: Final = 1000
"""Of a set."""

MAX_CHARS: Final = 800
"""Of a phrase."""

_WHAT_TO_DO: Final = (
    'write phrases separated by commas, ["...", "..."], or {"id": "...", "phrases": [...], "context_tags": [...]}'
)

_Phrase = Annotated[str, Field(max_length=MAX_CHARS), Storable]
_Phrases = Annotated[tuple[_Phrase, ...], Field(max_length=MAX_PHRASES)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(pattern=PLAIN_ID), NumberAsText] | None = None
    phrases: _Phrases
    context_tags: _Phrases | None = None


_LIST: Final = TypeAdapter(_Phrases)


def parse_phrase_sets(data: bytes, *, file: str, context_tags: tuple[str, ...] = ()) -> Parsed[Repeatable[PhraseSet]]:
    r"""Read a phrase set from each line that is not blank. Each set gets these context tags after its own.

    A line is a JSON list of phrases, a JSON object with `phrases` and optionally `id` and `context_tags`, or phrases
    separated by commas. A set without an id gets its number, from 1. Problems name the line, never its
    content.

    >>> [one.phrases for one in parse_phrase_sets(b'big shirt, hat\n["red coat"]\n', file="p").value]
    [('big shirt', 'hat'), ('red coat',)]
    """
    return parse_repeatedly(partial(_phrase_set, context_tags), data, file=file, what_to_do=_WHAT_TO_DO)


def _phrase_set(given: tuple[str, ...], number: int, text: str) -> PhraseSet:
    own: tuple[str, ...] = ()
    id_ = str(number)
    match text.lstrip()[0]:
        case "{":
            line = _Line.model_validate_json(text)
            id_, phrases, own = line.id or id_, line.phrases, line.context_tags or ()
        case "[":
            phrases = _LIST.validate_json(text)
        case _:
            phrases = _LIST.validate_python([phrase.strip() for phrase in text.split(",")])
    return PhraseSet(id=id_, phrases=phrases, context_tags=(*own, *given))
