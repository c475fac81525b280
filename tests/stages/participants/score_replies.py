"""Scoring replies for tests."""

import json
from typing import Any

from schemas.values.participants import PHQ8Item

ANSWER: dict[str, Any] = {"evidence": "so I said", "reason": "often", "score": 2, "confidence": 4}


def reply_of(changes: dict[PHQ8Item, Any] | None = None, **fields: Any) -> str:
    """A whole reply with a thinking block first. `fields` change every item, `changes` replace the answer of one."""
    answers = {item.evidence_key: (changes or {}).get(item, ANSWER | fields) for item in PHQ8Item}
    return f"<thinking>Let me see {{...}}</thinking>\n<answer>\n{json.dumps(answers)}\n</answer>"
