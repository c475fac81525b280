"""Stage `expand`: other wordings of the query, from a language model, pasted, or none."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from schemas.errors import ExpansionReplyError, LLMResponseParseError
from schemas.settings.preset import ExpansionPreset
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall, Message
from schemas.values.queries import Expansion, Intent, Origin
from stages.ports import ChatModel
from stages.queries.templates import render
from stages.replies.asking import whole_reply
from stages.replies.parsing import closed_object, json_type, strict_object
from stages.texts.characters import DATA_RULE, can_be_stored, fenced


def intent_of(text: str) -> str | None:
    """One of `Intent`, in any case of letters; any other text as it is, on one line; None for a blank one.

    >>> intent_of(" mechanism"), intent_of("buy a teapot"), intent_of(" ")
    ('MECHANISM', 'buy a teapot', None)
    """
    words = " ".join(text.split())
    return words.upper() if words.upper() in set(Intent) else words or None


_OPENING_FENCE = re.compile(r"```json\b", re.IGNORECASE)
_ANY_OPENING_FENCE = re.compile(r"```\w*")
_FENCE: Final = "```"
_INTENT_CHARS: Final = 50
_LONGEST_IN_A_GRAMMAR: Final = 1500
"""llama.cpp refuses to repeat a rule 2,000 times."""


def expansion_json_schema(n: int, *, max_tokens: int | None = None) -> dict[str, Any]:
    """The schema that the model's server is asked to enforce.

    With a limit of tokens, the texts are so short that a reply ends before it: a cut one would be of no use.
    """
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


def read_expansion(raw: str, *, origin: Origin, n: int | None) -> Expansion:
    """The expansion in a reply: one JSON object, alone or in a code fence, which need not be closed.

    Nothing is repaired. Absent keys are empty, an empty intent is None, and intents may be written in lower case. With
    `n`, a list of queries must have that length; None accepts any. Raises LLMResponseParseError when the reply is not
    a JSON object, and ExpansionReplyError, with all violations, when the object has none of the keys, an unexpected
    key, a value of the wrong type, blank entries or an intent of more than 50 characters.

    >>> read_expansion('{"queries": ["tea leaves oxidation"]}', origin=Origin.PASTED, n=None).queries
    ('tea leaves oxidation',)
    """
    reply = _object(raw)
    violations = dict(_shape_violations(reply))
    checks: Mapping[str, Callable[[Any], str | None]] = {
        "queries": lambda value: _texts_violation(value) or _number_violation(value, n),
        "hyde_answer": _text_violation,
        "intent": lambda value: _text_violation(value) or _intent_violation(value),
        "entities": _texts_violation,
    }
    violations |= {key: wrong for key, check in checks.items() if key in reply and (wrong := check(reply[key]))}
    if violations:
        raise ExpansionReplyError(raw, violations)
    return Expansion(
        origin=origin,
        queries=tuple(query.strip() for query in reply.get("queries", [])),
        hyde_answer=reply.get("hyde_answer", "").strip(),
        intent=intent_of(reply.get("intent", "")),
        entities=tuple(entity.strip() for entity in reply.get("entities", [])),
    )


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
    if opening is None:
        return text
    return _before_closing_fence(text[opening.end() :]).strip()


def _before_closing_fence(body: str) -> str:
    """JSON has no line breaks inside strings, so backticks at either end of a line close the fence."""
    at = 0
    for line in body.splitlines(keepends=True):
        if line.lstrip().startswith(_FENCE):
            return body[:at]
        if line.rstrip().endswith(_FENCE):
            return body[: at + len(line.rstrip()) - len(_FENCE)]
        at += len(line)
    return body


def _shape_violations(reply: dict[str, Any]) -> dict[str, str]:
    keys = {"queries", "hyde_answer", "intent", "entities"}
    if keys.isdisjoint(reply):
        return {"the object": f"has none of {', '.join(sorted(keys))}"}
    if unknown := len(reply.keys() - keys):
        return {"the object": f"has {unknown} unexpected {'key' if unknown == 1 else 'keys'}"}
    return {}


def _texts_violation(value: Any) -> str | None:
    if not isinstance(value, list):
        return f"expected an array, found {json_type(value)}"
    for place, entry in enumerate(value, start=1):
        if wrong := _text_violation(entry) or (None if entry.strip() else "is blank"):
            return f"entry {place} {wrong}"
    return None


def _text_violation(value: Any) -> str | None:
    if not isinstance(value, str):
        return f"expected a string, found {json_type(value)}"
    return None if can_be_stored(value) else "contains characters that cannot be stored"


def _number_violation(value: list[str], n: int | None) -> str | None:
    return None if n is None or len(value) == n else f"expected {n} entries, found {len(value)}"


def _intent_violation(value: str) -> str | None:
    return None if len(value) <= _INTENT_CHARS else f"has more than {_INTENT_CHARS} characters"


_SYSTEM = f"You prepare searches. You answer with one JSON object and with nothing else. {DATA_RULE}"


def no_expansion() -> Expansion:
    """Expansion skipped: only the query itself is searched for."""
    return Expansion(origin=Origin.NONE)


def pasted_expansion(reply: str) -> Expansion:
    """An expansion by an external model, with any number of queries. Raises as `read_expansion` does."""
    return read_expansion(reply, origin=Origin.PASTED, n=None)


async def expand_query(
    query: str,
    *,
    template: str,
    chat: ChatModel,
    model: str,
    settings: RunSettings,
    preset: ExpansionPreset,
) -> Expansion:
    """Ask the model once for search phrases, a hypothetical answer (HyDE), the intent and the entities.

    Raises TemplateError for a template that cannot be filled in, LLMResponseParseError when the reply is cut off or not
    an object, ExpansionReplyError when the object has the wrong shape, and the errors of the model's client unchanged.
    """
    max_tokens = preset.max_tokens or settings.ragq.query_max_tokens or None
    call = ChatCall(
        model=model,
        messages=(
            Message(role="system", content=_SYSTEM),
            Message(role="user", content=expansion_prompt(query, preset.n, template=template)),
        ),
        temperature=settings.ragq.query_temperature,
        json_mode=True,
        json_schema=expansion_json_schema(preset.n, max_tokens=max_tokens),
        max_tokens=max_tokens,
        timeout_s=settings.ollama.timeout_seconds,
        purpose="expand query",
    )
    reply = whole_reply(await chat.chat(call), token_setting="expansion.max_tokens")
    return read_expansion(reply, origin=Origin.MODEL, n=preset.n)


def expansion_prompt(query: str, n: int, *, template: str) -> str:
    """The prompt, also for an external model. The query is fenced as data."""
    return render(template, {"query": fenced("question", query), "n": str(n)})
