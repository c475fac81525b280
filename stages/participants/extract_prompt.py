"""The prompt of stage `extract`."""

from schemas.values.chat import Message
from schemas.values.phq8 import PHQ8Item
from stages.participants.score_prompt import item_list, score_list
from stages.texts.markdown import DATA_RULE, fenced

_SYSTEM = (
    "You read interviews and copy out what the interviewed person says about eight symptoms of depression. "
    f"You answer with one JSON object and with nothing else. {DATA_RULE}"
)

_FORM = "{" + ",\n ".join(f'"{item.evidence_key}": ["passage", "passage"]' for item in PHQ8Item) + "}"

_TASK = f"""\
Copy from this interview every passage that shows how the person has been doing in these eight areas:

{item_list()}

A later reader will give each area a score, going by your passages alone:

{score_list()}

So a passage is worth copying when it tells that a symptom is there, that it is not there, how often it comes or how \
bad it is.

- Copy word for word, with the person's own slips and pauses. Change, join and tidy nothing. Leave out who speaks.
- Give as many passages as there are. An area that the person does not talk about has an empty list.
- Give a passage once per area. It may stand under more than one area.

Answer with a JSON object of this form, with all eight keys:

{_FORM}"""


def extraction_messages(transcript: str) -> tuple[Message, ...]:
    """The messages about one transcript, which is shown in full and as data."""
    return (
        Message(role="system", content=_SYSTEM),
        Message(role="user", content=f"{fenced('interview', transcript)}\n\n{_TASK}"),
    )
