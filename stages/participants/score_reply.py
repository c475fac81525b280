"""Parser of scoring replies: reasoning first, then the answer."""

import re
from typing import NamedTuple

from schemas.errors import LLMResponseParseError, ScoringSchemaError
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import ItemAnswer
from stages.participants.item_keys import match_keys
from stages.participants.score_prompt import SeverityMode
from stages.participants.score_schema import item_answers
from stages.replies import RepairStep, parse_reply
from stages.replies.envelope import fenced_block

_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)


class ParsedScores(NamedTuple):
    """The answers for all items, and the repairs that reading the reply needed."""

    answers: dict[PHQ8Item, ItemAnswer]
    repairs: tuple[str, ...]


def parse_scores(raw: str, *, severity_mode: SeverityMode) -> ParsedScores:
    """The answers of a reply.

    Raises LLMResponseParseError when it has no object, or none that `parse_reply` can parse, and ScoringSchemaError
    when the object has the wrong shape.
    """
    text = object_text(raw)
    if text is None:
        raise LLMResponseParseError(raw, "there is no JSON object in it")
    try:
        parsed = parse_reply(text)
    except LLMResponseParseError as error:
        raise LLMResponseParseError(raw, error.parse_error) from None
    keys = match_keys(parsed.value)
    if keys.repeated:
        raise ScoringSchemaError(raw, dict.fromkeys(keys.repeated, "given more than once"))
    answers = item_answers(keys.members, raw=raw, severity_mode=severity_mode)
    several = (RepairStep.SEVERAL_ANSWERS,) if _has_several_answers(raw) else ()
    return ParsedScores(answers, (*several, *parsed.repairs, *keys.repairs(parsed.value)))


def object_text(raw: str) -> str | None:
    """The part of a reply that should be the object; None if there is no opening brace.

    The last body of answer tags, whose end may be missing, else the fenced block, else everything; of that the
    text from the first to the last brace. Braces in the reasoning are skipped this way.

    >>> object_text('<thinking>{hm}</thinking><ANSWER>Here: {"PHQ8_Sleep": 1}</ANSWER>')
    '{"PHQ8_Sleep": 1}'
    """
    answers = _answers(raw)
    if answers:
        text = answers[-1]
    else:
        block = fenced_block(raw)
        text = raw if block is None else block
    _, opening, rest = text.partition("{")
    if not opening:
        return None
    inside, closing, _ = rest.rpartition("}")
    return opening + (inside + closing if closing else rest)


def _answers(raw: str) -> list[str]:
    """The bodies of answer tags in order; one that is not closed ends at the next tag, or with the reply."""
    tags = [*_ANSWER_TAG.finditer(raw)]
    ends = [tag.start() for tag in tags[1:]] + [len(raw)]
    return [raw[tag.end() : end] for tag, end in zip(tags, ends, strict=False) if not tag[1]]


def _has_several_answers(raw: str) -> bool:
    return len({answer.strip() for answer in _answers(raw) if "{" in answer}) > 1
