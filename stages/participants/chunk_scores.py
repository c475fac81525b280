"""Chunk scores: the item scores that a chunk of the reference index supports by itself (Spec 35)."""

from typing import Any, NamedTuple

from schemas.errors import Refused, ScoringSchemaError
from schemas.values.chat import ChatCall
from schemas.values.phq8 import ITEM_SCORES, PHQ8Item
from schemas.values.scoring import ChunkScores
from stages.model_aliases import canonical_model
from stages.participants.chunk_scores_prompt import CHUNK_SCORES_JSON_SCHEMA, PROMPT_HASH, chunk_scores_messages
from stages.participants.item_keys import match_keys
from stages.ports import ChatModel
from stages.replies import parse_reply
from stages.replies.asking import ReplyReader, ask_until_usable
from stages.replies.strict import json_type

_FORM = "one JSON object with exactly the eight keys, each with 0, 1, 2, 3 or null"


class ParsedChunkScores(NamedTuple):
    """The scores of all items, and the repairs that reading the reply needed."""

    scores: dict[PHQ8Item, int | None]
    repairs: tuple[str, ...]


async def score_chunk(
    text: str, *, chat: ChatModel, model: str, timeout_s: float, max_tokens: int, retries: int
) -> ChunkScores:
    """Ask about one chunk; a reply that cannot be used is asked for again, up to `retries` times.

    Raises LLMResponseParseError and ScoringSchemaError after the last re-ask, and the errors of the model's client
    unchanged. A reply that cannot be used never becomes eight nulls.
    """
    reader = ReplyReader(
        read=read_chunk_scores, form=_FORM, retries=retries, token_setting="RAGQ_CHUNK_SCORE_MAX_TOKENS"
    )
    call = chunk_scores_call(text, model=model, timeout_s=timeout_s, max_tokens=max_tokens)
    usable = await ask_until_usable(call, chat=chat, reader=reader)
    return ChunkScores(
        model=model,
        model_digest=usable.reply.digest,
        prompt_hash=PROMPT_HASH,
        scores=usable.read.scores,
        reasks=usable.reasks,
        repairs=usable.read.repairs,
    )


def read_chunk_scores(reply: str) -> ParsedChunkScores:
    """The scores in a model's reply, whose keys may be written in another way. Raises UnusableReply."""
    parsed = parse_reply(reply)
    keys = match_keys(parsed.value)
    if keys.repeated:
        raise ScoringSchemaError(reply, dict.fromkeys(keys.repeated, "given more than once"))
    others = dict.fromkeys(map(str, range(len(keys.unknown))))
    scores = chunk_scores_of(keys.members | others, raw=reply)
    return ParsedChunkScores(scores, (*parsed.repairs, *keys.repairs(parsed.value)))


def chunk_scores_call(text: str, *, model: str, timeout_s: float, max_tokens: int) -> ChatCall:
    """The first call about one chunk, always at temperature 0."""
    return ChatCall(
        model=model,
        messages=chunk_scores_messages(text),
        json_mode=True,
        json_schema=dict(CHUNK_SCORES_JSON_SCHEMA),
        max_tokens=max_tokens,
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
