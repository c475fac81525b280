"""Stage `expand`: other wordings of the query, from a language model, pasted, or none."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from schemas.errors import FailureCategory, LLMResponseParseError, ReplyShapeError, listed_violations
from schemas.settings.run import RunSettings
from schemas.values.base import Storable
from schemas.values.chat import ChatCall
from schemas.values.queries import Expansion, Intent, Origin
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.replies.asking import messages_of, whole_reply
from stages.replies.parsing import closed_object, strict_object
from stages.texts.characters import DATA_RULE, fenced


def intent_of(text: str) -> str | None:
    """One of `Intent`, in any case of letters; any other text as it is, on one line; None for a blank one.

    >>> intent_of(" mechanism"), intent_of("buy a teapot"), intent_of(" ")
    ('MECHANISM', 'buy a teapot', None)
    """
    words = " ".join(text.split())
    return words.upper() if words.upper() in set(Intent) else words or None


_OPENING_FENCE = re.compile(r"```json\b", re.IGNORECASE)
_ANY_OPENING_FENCE = re.compile(r"```\w*")
_CLOSING_FENCE = re.compile(r"^[^\S\n]*```|```[^\S\n]*$", re.MULTILINE)
"""JSON has no line breaks inside strings, so backticks at either end of a line close the fence."""
_INTENT_CHARS: Final = 50
_LONGEST_IN_A_GRAMMAR: Final = 1500
"""llama.cpp refuses to repeat a rule 2,000 times."""


def expansion_json_schema(n: int, *, max_tokens: int | None = None) -> dict[str, Any]:
    """The schema that the model's server is asked to enforce. With a limit of tokens, the texts are so short that a
    reply ends before it: a cut one would be of no use."""
    text = partial(_text_of, max_tokens)
    return closed_object(
        {
            "queries": {"type": "array", "items": text(0.75 / n), "minItems": n, "maxItems": n},
            "hyde_answer": text(0.75),
            "intent": {"type": "string", "enum": [intent.value for intent in Intent]},
            "entities": {"type": "array", "items": text(0.05), "minItems": 1, "maxItems": 10},
        }
    )


def _text_of(max_tokens: int | None, chars_per_token: float) -> dict[str, Any]:
    """Of all texts together two characters for each token, which is fewer than a tokenizer has."""
    if max_tokens is None or (most := int(chars_per_token * max_tokens)) > _LONGEST_IN_A_GRAMMAR:
        return {"type": "string"}
    return {"type": "string", "maxLength": max(most, 1)}


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Storable]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    queries: list[_Text] = []
    hyde_answer: Annotated[str, StringConstraints(strip_whitespace=True), Storable] = ""
    intent: Annotated[str, StringConstraints(max_length=_INTENT_CHARS), Storable] = ""
    entities: list[_Text] = []


def read_expansion(raw: str, *, origin: Origin, n: int | None) -> Expansion:
    """The expansion in a reply: one JSON object, alone or in a code fence, which need not be closed. Absent keys are
    empty. With `n`, a list of queries must have that length.

    Raises LLMResponseParseError when the reply is not a JSON object, and ReplyShapeError, with all violations, when the
    object has another shape.

    >>> read_expansion('{"queries": ["tea leaves oxidation"]}', origin=Origin.PASTED, n=None).queries
    ('tea leaves oxidation',)
    """
    found = _object(raw)
    if found.keys().isdisjoint(_Reply.model_fields):
        raise _wrong_shape(raw, {"the object": f"has none of {', '.join(sorted(_Reply.model_fields))}"})
    try:
        reply = _Reply.model_validate(found)
    except ValidationError as error:
        # The name of a key that is not expected may be of the question.
        wrong = error.errors(include_input=False, include_url=False, include_context=False)
        places = ("the object" if one["type"] == "extra_forbidden" else ".".join(map(str, one["loc"])) for one in wrong)
        raise _wrong_shape(raw, dict(zip(places, (one["msg"] for one in wrong), strict=True))) from None
    if n is not None and "queries" in found and len(reply.queries) != n:
        raise _wrong_shape(raw, {"queries": f"expected {n} entries, found {len(reply.queries)}"})
    return Expansion(origin=origin, intent=intent_of(reply.intent), **reply.model_dump(exclude={"intent"}))


def _wrong_shape(raw: str, violations: Mapping[str, str]) -> ReplyShapeError:
    return ReplyShapeError(raw, listed_violations(violations), FailureCategory.EXPANSION_SCHEMA_INVALID)


def _object(raw: str) -> dict[str, Any]:
    text = _unfenced(raw.strip())
    try:
        return strict_object(text)
    except ValueError as error:
        around = "there is text before the JSON object: " if "{" in text and not text.startswith("{") else ""
        raise LLMResponseParseError(raw, f"{around}{error}") from None


def _unfenced(text: str) -> str:
    """The body of the first fence marked as JSON, else of the first fence of any kind, else the text."""
    opening = None if text.startswith("{") else _OPENING_FENCE.search(text) or _ANY_OPENING_FENCE.search(text)
    return text if opening is None else _CLOSING_FENCE.split(text[opening.end() :], maxsplit=1)[0].strip()


_SYSTEM = f"You prepare searches. You answer with one JSON object and with nothing else. {DATA_RULE}"


def no_expansion() -> Expansion:
    """Expansion skipped: only the query itself is searched for."""
    return Expansion(origin=Origin.NONE)


def pasted_expansion(reply: str) -> Expansion:
    """An expansion by an external model, with any number of queries. Raises as `read_expansion` does."""
    return read_expansion(reply, origin=Origin.PASTED, n=None)


async def expand_query(
    query: str, *, template: str, chat: ChatModel, model: str, settings: RunSettings, n: int
) -> Expansion:
    """Ask the model once for search phrases, a hypothetical answer (HyDE), the intent and the entities. Raises as
    `render`, `whole_reply` and `read_expansion` do, and the errors of the model's client unchanged."""
    max_tokens = settings.ragq.query_max_tokens or None
    call = ChatCall(
        model=model,
        messages=messages_of(_SYSTEM, expansion_prompt(query, n, template=template)),
        temperature=settings.ragq.query_temperature,
        json_mode=True,
        json_schema=expansion_json_schema(n, max_tokens=max_tokens),
        max_tokens=max_tokens,
        timeout_s=settings.ollama.timeout_seconds,
        purpose="expand query",
    )
    reply = whole_reply(await chat.chat(call), token_setting="RAGQ_QUERY_MAX_TOKENS")
    return read_expansion(reply, origin=Origin.MODEL, n=n)


def expansion_prompt(query: str, n: int, *, template: str) -> str:
    """The prompt, also for an external model. The query is fenced as data."""
    return render(template, {"query": fenced("question", query), "n": str(n)})
