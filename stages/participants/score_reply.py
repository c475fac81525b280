"""Parser of scoring replies, reasoning first, then the answer; and what scores come to: totals, medians, modes."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import floor
from statistics import median
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, StrictBool, ValidationError
from pydantic_core import PydanticCustomError

from schemas.errors import FailureCategory, LLMResponseParseError, ReplyShapeError, listed_violations
from schemas.values.base import can_be_stored
from schemas.values.participants import ITEM_SCORES, PHQ8Item
from schemas.values.scoring import InferenceType, ItemScore, Severity, Totals
from stages.participants.score_prompt import NOTHING_SAID, SeverityMode
from stages.replies.parsing import (
    ParsedReply,
    RepairStep,
    ReplyObject,
    closed_object,
    fenced_block,
    json_type,
    parse_reply,
)

NO_EVIDENCE = "No relevant evidence found"
NO_REASON = "The model gave no reason."

_NOT_SCORED = "N/A"
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_CONFIDENCES = range(1, 6)


def score_json_schema(severity_mode: SeverityMode, *, max_text_chars: int | None) -> dict[str, Any]:
    """The schema that the model's server can be asked to enforce: the reply has no reasoning before the answer, and
    each reason precedes its score. `max_text_chars` limits each text, which small models otherwise make too long."""
    text: dict[str, Any] = {"type": "string"}
    if max_text_chars is not None:
        text["maxLength"] = max_text_chars
    answer: dict[str, Any] = {
        "evidence": text,
        "reason": text,
        "score": {"enum": [*ITEM_SCORES, _NOT_SCORED]},
        "confidence": {"enum": [*_CONFIDENCES, None]},
    }
    if severity_mode == "infer":
        answer["inference_used"] = {"type": "boolean"}
        answer["inference_type"] = {"enum": [*(kind.value for kind in InferenceType), None]}
        answer["inference_marker"] = {"type": ["string", "null"]}
    return closed_object({item.evidence_key: closed_object(answer) for item in PHQ8Item})


def evidence_json_schema(passages: Mapping[PHQ8Item, str], *, max_text_chars: int | None) -> dict[str, Any]:
    """The schema of a reply to a prompt that shows passages: it repeats the passage of each item, cut at
    `max_text_chars`, before its score, so that a small model has it in view. An item without a passage is "N/A"; there
    are no reasons."""

    def answer(passage: str | None) -> dict[str, Any]:
        return closed_object(
            {
                "evidence": {"const": NOTHING_SAID if passage is None else passage[:max_text_chars]},
                "score": {"const": _NOT_SCORED} if passage is None else {"enum": [*ITEM_SCORES]},
                "confidence": {"enum": [*_CONFIDENCES]},
            }
        )

    return closed_object({item.evidence_key: answer(passages.get(item)) for item in PHQ8Item})


def item_answers(reply: Mapping[str, Any], *, raw: str, severity_mode: SeverityMode) -> dict[PHQ8Item, ItemScore]:
    """The answers of a reply's object, in the order of the questionnaire. Every score is required: 0..3 as a number or
    in digits, or null or "N/A" for none; a confidence is 1..5 likewise. Blank evidence and reasons are replaced by
    NO_EVIDENCE and NO_REASON; fields on inference are read only in mode `infer`. Raises ReplyShapeError with all
    violations; `raw` is the reply for its attribute."""
    violations: dict[str, str] = {}
    answers = {}
    for item in PHQ8Item:
        key = item.evidence_key
        found = reply.get(key)
        if not isinstance(found, dict):
            violations[key] = f"expected an object, found {json_type(found)}" if key in reply else "missing"
            continue
        if severity_mode != "infer":
            found = {name: value for name, value in found.items() if not name.startswith("inference_")}
        try:
            answer = _Answer.model_validate(found)
        except ValidationError as error:
            for wrong in error.errors(include_input=False, include_url=False):
                violations[f"{key}.{wrong['loc'][0]}"] = "missing" if wrong["type"] == "missing" else wrong["msg"]
        else:
            said = {"evidence": answer.evidence or NO_EVIDENCE, "reason": answer.reason or NO_REASON}
            answers[item] = ItemScore(**dict(answer) | said)
    if violations:
        raise ReplyShapeError(raw, listed_violations(violations), FailureCategory.SCORING_SCHEMA_INVALID)
    return answers


def _unexpected(value: object, expected: str) -> PydanticCustomError:
    words = {"expected": expected, "found": json_type(value)}
    return PydanticCustomError("answer", "expected {expected}, found another {found}", words)


def _number(allowed: range) -> BeforeValidator:
    """A whole number as such or in digits; None for null and "N/A"."""

    def read(value: object) -> int | None:
        text = value.strip() if isinstance(value, str) else ""
        if value is None or text.upper() == _NOT_SCORED:
            return None
        said = int(text) if _WHOLE_NUMBER.fullmatch(text) else value
        if isinstance(said, bool) or said not in allowed:
            raise _unexpected(value, f'a whole number from {allowed[0]} to {allowed[-1]}, or "{_NOT_SCORED}"')
        return next(number for number in allowed if number == said)

    return BeforeValidator(read)


def _storable(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and can_be_stored(value):
        return value.strip() or None
    raise _unexpected(value, "a text without NUL or broken characters")


_Text = Annotated[str | None, BeforeValidator(_storable)]


class _Answer(BaseModel):
    """What a reply says of an item. Errors show no value of it."""

    evidence: _Text = None
    reason: _Text = None
    score: Annotated[int | None, _number(ITEM_SCORES)]
    confidence: Annotated[int | None, _number(_CONFIDENCES)] = None
    inference_used: Annotated[StrictBool, BeforeValidator(lambda value: value is not None and value)] = False
    inference_type: InferenceType | None = None
    inference_marker: _Text = None


def match_keys(reply: ReplyObject) -> tuple[ReplyObject, list[str], int]:
    """Match each key with the item it names, whatever its case, its separators and its prefix: the members under the
    evidence keys, with what was done to their keys; evidence keys that several members with different values stand for,
    of which the first counts; and how many keys belong to no item.

    >>> found, repeated, unknown = match_keys(ParsedReply({"sleep": 1, "PHQ-8 Tired": 2, "PHQ8_Mood": 3}, ()))
    >>> found.value, repeated, unknown
    ({'PHQ8_Sleep': 1, 'PHQ8_Tired': 2}, [], 1)
    """
    members: dict[str, Any] = {}
    repeated, unknown = [], 0
    for key, value in reply.value.items():
        evidence_key = _BY_NAME.get(_name(key))
        if evidence_key is None:
            unknown += 1
        elif members.setdefault(evidence_key, value) != value:
            repeated.append(evidence_key)
    near = (RepairStep.NEAR_KEYS,) if members.keys() - reply.value.keys() else ()
    dropped = (RepairStep.UNKNOWN_KEYS,) if unknown else ()
    return ParsedReply(members, (*reply.repairs, *near, *dropped)), repeated, unknown


def _name(key: str) -> str:
    return "".join(filter(str.isalnum, key.casefold())).removeprefix("phq8")


_BY_NAME: Final = {_name(item.value): item.evidence_key for item in PHQ8Item}


_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)


def parse_items(text: str, *, raw: str) -> tuple[ReplyObject, int]:
    """The members of the object in a part of the reply `raw`, under the keys of their items, and how many belong to no
    item. Raises as `parse_reply` does, and ReplyShapeError for an item that is given more than once."""
    try:
        found, repeated, unknown = match_keys(parse_reply(text))
    except LLMResponseParseError as error:
        raise LLMResponseParseError(raw, error.parse_error) from None
    if repeated:
        violations = listed_violations(dict.fromkeys(repeated, "given more than once"))
        raise ReplyShapeError(raw, violations, FailureCategory.SCORING_SCHEMA_INVALID)
    return found, unknown


def parse_scores(raw: str, *, severity_mode: SeverityMode) -> ParsedReply[dict[PHQ8Item, ItemScore]]:
    """The answers for all items in a reply, and the repairs that reading it needed. Raises LLMResponseParseError when
    it has no object, or none that `parse_reply` can parse, and ReplyShapeError when the object has the wrong shape."""
    text = object_text(raw)
    if text is None:
        raise LLMResponseParseError(raw, "there is no JSON object in it")
    found, _ = parse_items(text, raw=raw)
    answers = item_answers(found.value, raw=raw, severity_mode=severity_mode)
    distinct = {answer.strip() for answer in _answers(raw) if "{" in answer}
    several = (RepairStep.SEVERAL_ANSWERS,) if len(distinct) > 1 else ()
    return ParsedReply(answers, (*several, *found.repairs))


def object_text(raw: str) -> str | None:
    """The part of a reply that should be the object; None if there is no opening brace.

    The last body of answer tags, whose end may be missing, else the fenced block, else everything; of that the
    text from the first to the last brace. Braces in the reasoning are skipped this way.

    >>> object_text('<thinking>{hm}</thinking><ANSWER>Here: {"PHQ8_Sleep": 1}</ANSWER>')
    '{"PHQ8_Sleep": 1}'
    """
    answers = _answers(raw)
    text = answers[-1] if answers else fenced_block(raw)
    _, opening, rest = (raw if text is None else text).partition("{")
    if not opening:
        return None
    inside, closing, _ = rest.rpartition("}")
    return opening + (inside + closing if closing else rest)


def _answers(raw: str) -> list[str]:
    """The bodies of answer tags in order; one that is not closed ends at the next tag, or with the reply."""
    tags = [*_ANSWER_TAG.finditer(raw)]
    ends = [tag.start() for tag in tags[1:]] + [len(raw)]
    return [raw[tag.end() : end] for tag, end in zip(tags, ends, strict=False) if not tag[1]]


_HIGHEST = ITEM_SCORES[-1]
_BAND = 5
_SEVERITIES = tuple(Severity)


def severity_of(total: int) -> Severity:
    """The band of a total, 0..24. Raises ValueError outside.

    >>> [severity_of(total).value for total in (4, 5, 14, 15, 24)]
    ['minimal', 'mild', 'moderate', 'mod_severe', 'severe']
    """
    if total not in range(8 * _HIGHEST + 1):
        raise ValueError(f"A PHQ-8 total is 0..24, not {total}.")
    return _SEVERITIES[min(total // _BAND, len(_SEVERITIES) - 1)]


def totals_of(scores: Iterable[int | None]) -> Totals:
    """The bounds of the total: every N/A may be a 0 or a 3. Without any N/A both bounds are the total.

    >>> totals_of([1, 2, 0, 3, 3, None, 0, 0]).model_dump(mode="json")["maximum"]
    12
    """
    values = list(scores)
    minimum = sum(value for value in values if value is not None)
    maximum = minimum + _HIGHEST * values.count(None)
    low, high = severity_of(minimum), severity_of(maximum)
    return Totals(
        minimum=minimum,
        maximum=maximum,
        minimum_severity=low,
        maximum_severity=high,
        severity=low if low is high else None,
    )


def rounded(value: float) -> int:
    """The nearest score; of two equally near the higher one.

    >>> rounded(0.5), rounded(1.49)
    (1, 1)
    """
    return floor(value + 0.5)


def median_score(scores: Collection[int]) -> int | None:
    """The median, as a score; None of no scores."""
    return rounded(median(scores)) if scores else None


def modal_score(scores: Collection[int]) -> int | None:
    """The most frequent score, of equally frequent ones the lowest; None of no scores."""
    counts = Counter(scores)
    return min(counts, key=lambda score: (-counts[score], score)) if counts else None


def scores_by_item(labels: Iterable[Mapping[str, Any] | None]) -> dict[PHQ8Item, tuple[int, ...]]:
    """The scores of each item in stored labels by evidence key; people without a label of the item are left out."""
    known = [of_one for of_one in labels if of_one is not None]
    return {
        item: tuple(of_one[item.evidence_key] for of_one in known if of_one.get(item.evidence_key) in ITEM_SCORES)
        for item in PHQ8Item
    }


def baseline_record(source: str, labels: Collection[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The median and the mode of each item over the labels of a training split, by evidence key, as a run keeps them.
    None unless each item has a label."""
    scores = scores_by_item(labels)
    if not all(scores.values()):
        return None
    return {
        "split": source,
        "participants": sum(of_one is not None for of_one in labels),
        **{
            name: {item.evidence_key: of(scores[item]) for item in PHQ8Item}
            for name, of in (("median", median_score), ("mode", modal_score))
        },
    }
