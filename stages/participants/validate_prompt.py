"""The prompt of stage `validate` about one reference."""

from schemas.values.chat import Message
from schemas.values.phq8 import PHQ8Item
from stages.participants.item_meanings import MEANINGS, score_list
from stages.texts.fence import DATA_RULE, fenced

_SYSTEM = f"""\
You check examples before a rater of interviews gets to see them. You answer with one JSON object, \
{{"decision": "accept"}}, {{"decision": "reject"}} or {{"decision": "unsure"}}, and with nothing else. {DATA_RULE}"""

_TASK = f"""\
The evidence was said by the person who is to be rated. The reference was said by somebody else, whose score for the \
symptom is known:

{score_list()}
N/A = not known

Should the rater see the reference as an example for this symptom? Whether its score is right is not asked.

accept: it speaks of what the evidence speaks of, and is a good example of the symptom.
reject: it has nothing to do with the symptom or the evidence, or it contradicts the evidence.
unsure: it cannot be told."""


def verdict_messages(
    item: PHQ8Item, *, evidence: str, reference: str, score: int | None, max_chars: int | None
) -> tuple[Message, ...]:
    """The messages about one reference. Each passage is cut at `max_chars` characters; None shows all."""
    user = "\n\n".join(
        [
            f"Symptom: {item.value}, {MEANINGS[item]}\nScore of the reference: {'N/A' if score is None else score}",
            fenced("evidence", evidence, max_chars=max_chars),
            fenced("reference", reference, max_chars=max_chars),
            _TASK,
        ]
    )
    return Message(role="system", content=_SYSTEM), Message(role="user", content=user)
