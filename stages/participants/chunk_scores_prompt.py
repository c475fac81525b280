"""The prompt for scoring one chunk of a reference transcript."""

from collections.abc import Mapping

from schemas.values.chat import Message
from schemas.values.phq8 import ITEM_SCORES, PHQ8Item
from stages.participants.item_meanings import item_list, score_list
from stages.texts.fence import DATA_RULE, fenced
from stages.texts.hashes import short_hash

CHUNK_SCORES_JSON_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {item.evidence_key: {"enum": [*ITEM_SCORES, None]} for item in PHQ8Item},
    "required": [item.evidence_key for item in PHQ8Item],
    "additionalProperties": False,
}
"""The schema that the model's server is asked to enforce."""

_SYSTEM = (
    "You label short pieces of interviews. You answer with one JSON object of eight numbers or nulls and with nothing "
    f"else. {DATA_RULE}"
)

_TASK = f"""\
This is a piece of a longer interview. Say what it tells about each of eight problems of the person over the last two \
weeks:

{item_list()}

Scores:

{score_list()}
null = this piece does not tell

Give a number only where these very words support how often the problem comes, or that it does not come. The rest of \
the interview is not known to you: do not guess what it may say. What is said of another person, or of a time long \
past, does not count. Most pieces tell nothing about most problems, so most values are null.

Answer with a JSON object that has exactly these keys:

{{{", ".join(f'"{item.evidence_key}": null' for item in PHQ8Item)}}}"""

PROMPT_HASH = short_hash(_SYSTEM + _TASK)
"""Changes with the prompt."""


def chunk_scores_messages(text: str) -> tuple[Message, ...]:
    """The messages about one chunk, which is shown in full and as data."""
    return (
        Message(role="system", content=_SYSTEM),
        Message(role="user", content=f"{fenced('interview', text)}\n\n{_TASK}"),
    )
