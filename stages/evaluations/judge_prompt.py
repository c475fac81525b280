"""The prompt of a judge: whether passages support a sentence."""

from collections.abc import Sequence
from typing import Final

from schemas.values.chat import Message
from stages.texts.fence import DATA_RULE, fenced
from stages.texts.hashes import short_hash

_SYSTEM: Final = f"""\
You check whether passages support a statement. You answer with one JSON object, {{"decision": "accept"}}, \
{{"decision": "reject"}} or {{"decision": "unsure"}}, and with nothing else. {DATA_RULE}"""

_TASK: Final = """\
The statement is part of a reply to this question, which only shows what its words refer to:
{question}

{passages}

{statement}

accept: the passages state everything that the statement claims, or it follows from them.
reject: the passages lack a part of what the statement claims, or contradict it.
unsure: it cannot be decided.
What you know from elsewhere does not count: only the passages do."""

PROMPT_HASH: Final = short_hash(_SYSTEM + _TASK)
"""Another prompt is other work."""


def judge_messages(
    question: str, statement: str, passages: Sequence[str], *, max_chars: int | None
) -> tuple[Message, ...]:
    """The messages about one statement; the model sees `max_chars` characters of each passage, None shows all."""
    task = _TASK.format(
        question=fenced("question", question),
        passages="\n".join(fenced("passage", passage, max_chars=max_chars) for passage in passages),
        statement=fenced("statement", statement),
    )
    return Message(role="system", content=_SYSTEM), Message(role="user", content=task)
