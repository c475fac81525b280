"""A transcript in overlapping windows of lines: the chunks of the reference index."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from schemas.errors import FailureCategory, Refused, ReplyShapeError, listed_violations
from schemas.settings.run import EmbeddingSettings, RunSettings
from schemas.values.chat import ChatCall
from schemas.values.participants import ITEM_SCORES, ITEMS_BY_KEY, PHQ8Item
from schemas.values.scoring import ChunkScores
from stages.models import canonical_model
from stages.participants.score_prompt import item_list, score_list, texts_of_items
from stages.participants.score_reply import parse_items
from stages.ports import ChatModel
from stages.replies.asking import ask_until_usable, messages_of
from stages.replies.parsing import ParsedReply, closed_object, json_type
from stages.texts.characters import DATA_RULE, fenced, short_hash


def chunk_transcript(text: str, embedding: EmbeddingSettings) -> tuple[str, ...]:
    """The windows of `chunk_size` lines, each `chunk_step` lines after the one before. Blank lines at the end do not
    count. Remaining lines get a last window that ends with the text, unless a window with the same text exists. Windows
    with fewer than `min_evidence_chars` characters, not counting white space around them, are dropped."""
    size, step = embedding.chunk_size, embedding.chunk_step
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    windows: list[str] = []
    for start in window_starts(len(lines), size=size, step=step):
        window = "\n".join(lines[start : start + size])
        is_left_over = start % step != 0
        if not (is_left_over and window in windows):
            windows.append(window)
    return tuple(window for window in windows if len(window.strip()) >= embedding.min_evidence_chars)


def window_starts(lines: int, *, size: int, step: int) -> list[int]:
    """The starts of the windows over this many lines, from 0; none without lines.

    >>> window_starts(13, size=8, step=2)
    [0, 2, 4, 5]
    """
    if size < 2 or not 1 <= step <= size:
        raise ValueError(
            f"Windows of {size} lines every {step} are not possible; size >= 2 and 1 <= step <= size are required."
        )
    if lines <= size:
        return [0] if lines else []
    last = lines - size
    starts = list(range(0, last + 1, step))
    return starts if starts[-1] == last else [*starts, last]


_QUOTES = re.compile("['’‘`]")


def tag_chunk(text: str) -> tuple[str, ...]:
    """The evidence keys of the items with a phrase in a line of the text, each once, in alphabetical order. A phrase
    matches whole words on one line, ignoring case, spacing and apostrophes.

    >>> tag_chunk("Participant: i CANT sleep\\nParticipant: since i retired i’m tired")
    ('PHQ8_Sleep', 'PHQ8_Tired')
    """
    plain = _plain(text)
    return tuple(sorted(item.evidence_key for item, pattern in _patterns().items() if pattern.search(plain)))


def phrases() -> Mapping[PHQ8Item, tuple[str, ...]]:
    """The phrases of each item as written in the file."""
    return texts_of_items("item_phrases.toml")


@cache
def _patterns() -> Mapping[PHQ8Item, re.Pattern[str]]:
    return {
        item: re.compile(rf"\b(?:{'|'.join(re.escape(_plain(phrase)) for phrase in of_item)})\b")
        for item, of_item in phrases().items()
    }


def _plain(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in _QUOTES.sub("", text.lower()).splitlines())


CHUNK_SCORES_JSON_SCHEMA: Final = closed_object({key: {"enum": [*ITEM_SCORES, None]} for key in ITEMS_BY_KEY})
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


_FORM = "one JSON object with exactly the eight keys, each with 0, 1, 2, 3 or null"


async def score_chunk(text: str, *, chat: ChatModel, model: str, settings: RunSettings) -> ChunkScores:
    """Ask about one chunk at temperature 0; a reply that cannot be used never becomes eight nulls."""
    call = ChatCall(
        model=model,
        messages=messages_of(_SYSTEM, f"{fenced('interview', text)}\n\n{_TASK}"),
        json_mode=True,
        json_schema=CHUNK_SCORES_JSON_SCHEMA,
        max_tokens=settings.ragq.chunk_score_max_tokens,
        timeout_s=settings.ollama.timeout_seconds,
        purpose="score chunk",
    )
    usable = await ask_until_usable(
        call,
        chat=chat,
        read=read_chunk_scores,
        form=_FORM,
        retries=settings.ragq.reply_retries,
        token_setting="RAGQ_CHUNK_SCORE_MAX_TOKENS",
    )
    scores, repairs = usable.read
    return ChunkScores(
        model=model,
        model_digest=usable.reply.digest,
        prompt_hash=PROMPT_HASH,
        scores=scores,
        reasks=usable.reasks,
        repairs=repairs,
    )


def read_chunk_scores(reply: str) -> ParsedReply[dict[PHQ8Item, int | None]]:
    """The scores in a model's reply, and the repairs that it needed. Raises UnusableReply."""
    found, unknown = parse_items(reply, raw=reply)
    others = dict.fromkeys(map(str, range(unknown)))
    return ParsedReply(chunk_scores_of(found.value | others, raw=reply), found.repairs)


def chunk_scores_of(reply: dict[str, Any], *, raw: str = "") -> dict[PHQ8Item, int | None]:
    """The scores of an object with exactly the eight keys, each a whole number 0..3 or null. Raises ReplyShapeError
    with all violations; `true`, 1.0 and "1" are not accepted. Used for replies and for imported chunk scores.

    >>> chunk_scores_of(dict.fromkeys(ITEMS_BY_KEY) | {"PHQ8_Sleep": 2})[PHQ8Item.SLEEP]
    2
    """
    violations = {key: "missing" for key in ITEMS_BY_KEY if key not in reply}
    violations |= {
        key: f"expected 0, 1, 2, 3 or null, found another {json_type(value)}"
        for key, value in reply.items()
        if key in ITEMS_BY_KEY and value is not None and (type(value) is not int or value not in ITEM_SCORES)
    }
    if others := len(reply.keys() - ITEMS_BY_KEY.keys()):
        violations["root"] = f"keys other than the eight: {others}"
    if violations:
        raise ReplyShapeError(raw, listed_violations(violations), FailureCategory.SCORING_SCHEMA_INVALID)
    return {item: reply[key] for key, item in ITEMS_BY_KEY.items()}


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
