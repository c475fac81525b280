"""Chunk scores: the item scores that a chunk of the reference index supports by itself; one call a chunk (Spec 35)."""

from typing import Any

from schemas.errors import Refused, ScoringSchemaError
from schemas.values.chat import ChatCall
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import ITEM_SCORES, ChunkScores
from stages.model_aliases import canonical_model
from stages.participants.chunk_scores_prompt import CHUNK_SCORES_JSON_SCHEMA, PROMPT_HASH, chunk_scores_messages
from stages.ports import ChatModel
from stages.replies import parse_reply
from stages.replies.strict import json_type
from stages.replies.whole_reply import whole_reply

_MAX_TOKENS = 256
"""Token limit of a reply: eight numbers or nulls."""


async def score_chunk(text: str, *, chat: ChatModel, model: str, timeout_s: float) -> ChunkScores:
    """Ask once about one chunk.

    Raises LLMResponseParseError and ScoringSchemaError when the reply cannot be used, and the errors of the model's
    client unchanged. A reply that cannot be used never becomes eight nulls.
    """
    reply = await chat.chat(chunk_scores_call(text, model=model, timeout_s=timeout_s))
    raw = whole_reply(reply)
    parsed = parse_reply(raw)
    return ChunkScores(
        model=model,
        model_digest=reply.digest,
        prompt_hash=PROMPT_HASH,
        scores=chunk_scores_of(parsed.value, raw=raw),
        repairs=parsed.repairs,
    )


def chunk_scores_call(text: str, *, model: str, timeout_s: float) -> ChatCall:
    """The call about one chunk, always at temperature 0."""
    return ChatCall(
        model=model,
        messages=chunk_scores_messages(text),
        json_mode=True,
        json_schema=dict(CHUNK_SCORES_JSON_SCHEMA),
        max_tokens=_MAX_TOKENS,
        timeout_s=timeout_s,
        purpose="score chunk",
    )


def chunk_scores_of(reply: dict[str, Any], *, raw: str = "") -> dict[PHQ8Item, int | None]:
    """The scores of an object with exactly the eight keys, each a whole number 0..3 or null.

    Raises ScoringSchemaError with all violations; `true`, 1.0 and "1" are not accepted. Used for replies and for
    imported chunk scores.

    >>> chunk_scores_of({item.evidence_key: None for item in PHQ8Item} | {"PHQ8_Sleep": 2})[PHQ8Item.SLEEP]
    2
    """
    keys = {item.evidence_key for item in PHQ8Item}
    violations = {item.evidence_key: "missing" for item in PHQ8Item if item.evidence_key not in reply}
    violations |= {
        key: f"expected 0, 1, 2, 3 or null, found another {json_type(value)}"
        for key, value in reply.items()
        if key in keys and not _is_score(value)
    }
    others = len(reply.keys() - keys)
    if others:
        violations["root"] = f"keys other than the eight: {others}"
    if violations:
        raise ScoringSchemaError(raw, violations)
    return {item: reply[item.evidence_key] for item in PHQ8Item}


def is_circular(scorer_model: str, *, quantitative_model: str) -> bool:
    """Whether a model would be shown its own labels as examples; two names of one model are equal.

    >>> is_circular("google/gemma-3-27b-it", quantitative_model="gemma3:27b")
    True
    """
    return canonical_model(scorer_model) == canonical_model(quantitative_model)


def refuse_circular_scoring(scorer_model: str, *, quantitative_model: str, allow_same_model: bool = False) -> None:
    """Raise Refused if a model would create the labels that it is then shown as examples."""
    if is_circular(scorer_model, quantitative_model=quantitative_model) and not allow_same_model:
        raise Refused(
            f"'{scorer_model}' would score the chunks and is MODEL_QUANTITATIVE_MODEL too: it would be shown its own "
            "labels as examples. Choose another scorer, or allow it with --allow-same-model."
        )


def _is_score(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value in ITEM_SCORES)
