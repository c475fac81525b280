"""The schema of a scoring answer: eight keys, each with the model's answer for that item."""

import re
from collections.abc import Mapping
from typing import Any

from schemas.errors import ScoringSchemaError
from schemas.values.phq8 import PHQ8Item
from schemas.values.scoring import InferenceType, ItemAnswer
from stages.participants.evidence_prompt import NOTHING_SAID
from stages.participants.score_prompt import SeverityMode
from stages.replies.strict import json_type
from stages.texts.storable import can_be_stored

NO_EVIDENCE = "No relevant evidence found"
NO_REASON = "The model gave no reason."

_NOT_SCORED = "N/A"
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_SCORES = range(4)
_CONFIDENCES = range(1, 6)


def score_json_schema(severity_mode: SeverityMode, *, max_text_chars: int | None) -> dict[str, Any]:
    """The schema that the model's server can be asked to enforce.

    A reply under this schema starts with the answer, without reasoning before it. The reason precedes the score
    instead. `max_text_chars` limits each evidence and each reason, which small models otherwise make too long.
    """
    text: dict[str, Any] = {"type": "string"}
    if max_text_chars is not None:
        text["maxLength"] = max_text_chars
    answer: dict[str, Any] = {
        "evidence": text,
        "reason": text,
        "score": {"enum": [*_SCORES, _NOT_SCORED]},
        "confidence": {"enum": [*_CONFIDENCES, None]},
    }
    if severity_mode == "infer":
        answer["inference_used"] = {"type": "boolean"}
        answer["inference_type"] = {"enum": [*(kind.value for kind in InferenceType), None]}
        answer["inference_marker"] = {"type": ["string", "null"]}
    return _object({item.evidence_key: _object(answer) for item in PHQ8Item})


def evidence_json_schema(passages: Mapping[PHQ8Item, str], *, max_text_chars: int | None) -> dict[str, Any]:
    """The schema of a reply to a prompt that shows passages.

    Such a reply repeats the passage of each item, cut at `max_text_chars`, before its score: a small model has it in
    view then. An item with a passage has a score, one without is "N/A"; there are no reasons.
    """

    def answer(passage: str | None) -> dict[str, Any]:
        return _object(
            {
                "evidence": {"const": NOTHING_SAID if passage is None else passage[:max_text_chars]},
                "score": {"const": _NOT_SCORED} if passage is None else {"enum": [*_SCORES]},
                "confidence": {"enum": [*_CONFIDENCES]},
            }
        )

    return _object({item.evidence_key: answer(passages.get(item)) for item in PHQ8Item})


def item_answers(reply: Mapping[str, Any], *, raw: str, severity_mode: SeverityMode) -> dict[PHQ8Item, ItemAnswer]:
    """The answers of a reply's object, in the order of the questionnaire.

    Every key and every score is required; a score is 0..3 as a number or in digits, or null or "N/A" for none, a
    confidence 1..5 likewise. Missing or blank evidence and reasons are replaced by NO_EVIDENCE and NO_REASON. Fields on
    inference are read only in mode `infer`. Unknown keys are ignored. Raises ScoringSchemaError with all violations;
    `raw` is the reply for its attribute.
    """
    violations: dict[str, str] = {}
    answers = {}
    for item in PHQ8Item:
        key = item.evidence_key
        found = reply.get(key)
        if not isinstance(found, dict):
            wrong = f"expected an object, found {json_type(found)}" if key in reply else "missing"
            violations[key] = wrong
            continue
        fields = _Fields(found)
        answers[item] = _answer(fields, severity_mode)
        violations |= {f"{key}.{name}": wrong for name, wrong in fields.violations.items()}
    if violations:
        raise ScoringSchemaError(raw, violations)
    return answers


class _Fields:
    """One item's object, read field by field. Violations are collected in `violations`."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._found = found
        self.violations: dict[str, str] = {}

    def number(self, name: str, allowed: range, *, required: bool = False) -> int | None:
        expected = f'a whole number from {allowed[0]} to {allowed[-1]}, or "{_NOT_SCORED}"'
        if required and name not in self._found:
            self.violations[name] = f"missing; expected {expected}"
        value = self._found.get(name)
        if value is None or (isinstance(value, str) and value.strip().upper() == _NOT_SCORED):
            return None
        number = _whole_number(value)
        if number in allowed:
            return number
        self._refuse(name, expected)
        return None

    def text(self, name: str) -> str | None:
        value = self._found.get(name)
        if value is None:
            return None
        if isinstance(value, str) and can_be_stored(value):
            return value.strip() or None
        self._refuse(name, "a text without NUL or broken characters")
        return None

    def flag(self, name: str) -> bool:
        value = self._found.get(name)
        if not isinstance(value, bool | None):
            self._refuse(name, "true or false")
        return value is True

    def inference_type(self, name: str) -> InferenceType | None:
        value = self._found.get(name)
        kinds = {kind.value: kind for kind in InferenceType}
        if isinstance(value, str) and value in kinds:
            return kinds[value]
        if value is not None:
            self._refuse(name, f"{', '.join(kinds)} or null")
        return None

    def _refuse(self, name: str, expected: str) -> None:
        self.violations[name] = f"expected {expected}, found another {json_type(self._found[name])}"


def _answer(fields: _Fields, severity_mode: SeverityMode) -> ItemAnswer:
    inferred: dict[str, Any] = {}
    if severity_mode == "infer":
        inferred = {
            "inference_used": fields.flag("inference_used"),
            "inference_type": fields.inference_type("inference_type"),
            "inference_marker": fields.text("inference_marker"),
        }
    return ItemAnswer(
        evidence=fields.text("evidence") or NO_EVIDENCE,
        reason=fields.text("reason") or NO_REASON,
        score=fields.number("score", _SCORES, required=True),
        confidence=fields.number("confidence", _CONFIDENCES),
        **inferred,
    )


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if _WHOLE_NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
