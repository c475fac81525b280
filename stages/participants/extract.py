"""Stage `extract`: the quotes of a participant per PHQ-8 item, from a language model or from the submission."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple

from pydantic import Field
from rapidfuzz import fuzz

from schemas.errors import EvidenceGroundingError, EvidenceSchemaError
from schemas.values.base import Value
from schemas.values.chat import ChatCall
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence
from schemas.values.phq8 import PHQ8Item
from stages.participants.extract_prompt import extraction_messages
from stages.participants.score_reply import match_keys
from stages.participants.transcripts import refuse_blank
from stages.ports import ChatModel
from stages.replies import parse_reply
from stages.replies.asking import ReplyReader, ask_until_usable
from stages.texts.characters import can_be_stored

EVIDENCE_JSON_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {item.evidence_key: {"type": "array", "items": {"type": "string"}} for item in PHQ8Item},
    "required": [item.evidence_key for item in PHQ8Item],
    "additionalProperties": False,
}
"""The schema that the model's server is asked to enforce."""


def quotes_per_item(reply: object) -> dict[PHQ8Item, tuple[str, ...]]:
    """The quotes of each item, trimmed, without empty and repeated ones, in order.

    A key that is missing or null has no quotes; other keys than the eight are not read. All violations are raised
    together, as EvidenceSchemaError. Text with NUL or half a surrogate pair, which Postgres cannot store, is one.

    >>> quotes_per_item({"PHQ8_Sleep": [" up at three ", "", "up at three"]})[PHQ8Item.SLEEP]
    ('up at three',)
    """
    if not isinstance(reply, dict):
        raise EvidenceSchemaError({"root": f"expected_object_got_{type(reply).__name__}"})
    found: dict[PHQ8Item, Any] = {item: reply.get(item.evidence_key) for item in PHQ8Item}
    violations = {item.evidence_key: text for item, value in found.items() if (text := _violation(value))}
    if violations:
        raise EvidenceSchemaError(violations)
    return {item: _trimmed_and_distinct(value or ()) for item, value in found.items()}


def _violation(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, list):
        return f"expected_list_got_{type(value).__name__}"
    for at, quote in enumerate(value):
        if not isinstance(quote, str):
            return f"expected_list_str_got_{type(quote).__name__}_at_{at}"
        if not can_be_stored(quote):
            return f"expected_list_str_got_unstorable_text_at_{at}"
    return None


def _trimmed_and_distinct(quotes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for quote in quotes if (text := quote.strip())))


GroundingMode = Literal["substring", "fuzzy"]

_ASCII_QUOTES = str.maketrans(dict.fromkeys("“”„‟", '"') | dict.fromkeys("‘’‚‛", "'") | {"\u00a0": " "})
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\ufeff"))
_TAG = re.compile(r"<[^<>\n]*>")


class GroundingCheck(Value):
    """How quotes are compared with the transcript."""

    enabled: bool
    mode: GroundingMode
    """`fuzzy` also accepts quotes that nearly match."""
    fuzzy_threshold: float = Field(ge=0.5, le=1.0)
    """The least ratio of the best partial match at which `fuzzy` accepts a quote."""
    fail_on_all_rejected: bool
    """Raise EvidenceGroundingError when there were quotes and none is grounded; otherwise continue without evidence."""


class GroundedQuotes(NamedTuple):
    """The quotes that occur in the transcript, and the number per item that do not; items without any are absent."""

    quotes: dict[PHQ8Item, tuple[str, ...]]
    rejected: dict[PHQ8Item, int]


def keep_grounded(quotes: Mapping[PHQ8Item, Iterable[str]], transcript: str, check: GroundingCheck) -> GroundedQuotes:
    """Keep the quotes that occur in the transcript, in their order; with the check disabled, all of them.

    Raises EvidenceGroundingError as configured by the check.
    """
    given = {item: tuple(texts) for item, texts in quotes.items()}
    if not check.enabled:
        return GroundedQuotes(given, {})
    source = normalise(transcript)
    kept = {item: tuple(quote for quote in texts if _occurs_in(source, quote, check)) for item, texts in given.items()}
    rejected = {item: missing for item, texts in given.items() if (missing := len(texts) - len(kept[item]))}
    if check.fail_on_all_rejected and rejected and not any(kept.values()):
        raise EvidenceGroundingError(sum(rejected.values()))
    return GroundedQuotes(kept, rejected)


def normalise(text: str) -> str:
    """The text without differences that models introduce: case, white space, typographic quotes, `<...>` tags.

    A tag ends on its line, so that a single `<` does not remove the rest of the transcript.

    >>> normalise("I’m <laughter> FINE,\\n really")
    "i'm fine, really"
    """
    plain = unicodedata.normalize("NFKC", text).translate(_ASCII_QUOTES).translate(_INVISIBLE)
    return " ".join(_TAG.sub(" ", plain).split()).lower()


def _occurs_in(source: str, quote: str, check: GroundingCheck) -> bool:
    wanted = normalise(quote)
    if not wanted or wanted in source:
        return bool(wanted)
    # A partial match compares the shorter text with parts of the longer one, so the quote must be the shorter.
    is_near = check.mode == "fuzzy" and len(wanted) <= len(source)
    return is_near and fuzz.partial_ratio(wanted, source) / 100 >= check.fuzzy_threshold


_FORM = "one JSON object with all eight keys, each with a list of quotes"


async def extract_evidence(
    transcript: str,
    *,
    chat: ChatModel,
    model: str,
    timeout_s: float,
    temperature: float,
    retries: int,
    grounding: GroundingCheck,
) -> ExtractedEvidence:
    """Ask the model for the quotes of all items, and keep those that the grounding check finds.

    A reply that cannot be used is asked for again, up to `retries` times. Raises EmptyTranscriptError for a blank
    transcript, before any call; after the last re-ask LLMResponseParseError when the reply is cut off or not an object,
    EvidenceSchemaError when the object has the wrong shape, EvidenceGroundingError as configured by the check; and the
    errors of the model's client unchanged. A reply that cannot be used never becomes empty evidence.
    """
    refuse_blank(transcript)
    reader = ReplyReader(
        read=lambda text: read_evidence(text, transcript, grounding=grounding), form=_FORM, retries=retries
    )
    call = extraction_call(transcript, model=model, timeout_s=timeout_s, temperature=temperature)
    usable = await ask_until_usable(call, chat=chat, reader=reader)
    return usable.read.model_copy(update={"reasks": usable.reasks})


def read_evidence(reply: str, transcript: str, *, grounding: GroundingCheck) -> ExtractedEvidence:
    """The grounded quotes in a model's reply, whose keys may be written in another way. Raises UnusableReply."""
    parsed = parse_reply(reply)
    keys = match_keys(parsed.value)
    if keys.repeated:
        raise EvidenceSchemaError(dict.fromkeys(keys.repeated, "given_more_than_once"))
    evidence = _grounded(EvidenceExtractor.LLM, keys.members, transcript, grounding)
    repairs = (*parsed.repairs, *keys.repairs(parsed.value))
    return evidence.model_copy(update={"repairs": repairs, "unknown_keys": keys.unknown})


def given_evidence(evidence: Mapping[str, object], transcript: str, *, grounding: GroundingCheck) -> ExtractedEvidence:
    """The quotes of a submitted object, whose keys are evidence keys, with the same checks as those of a model.

    Raises EvidenceSchemaError, EvidenceGroundingError and EmptyTranscriptError.
    """
    refuse_blank(transcript)
    return _grounded(EvidenceExtractor.GIVEN, evidence, transcript, grounding)


def extraction_call(transcript: str, *, model: str, timeout_s: float, temperature: float) -> ChatCall:
    """The first call that extracts the evidence of a transcript."""
    return ChatCall(
        model=model,
        messages=extraction_messages(transcript),
        temperature=temperature,
        json_mode=True,
        json_schema=dict(EVIDENCE_JSON_SCHEMA),
        timeout_s=timeout_s,
        purpose="extract evidence",
    )


def _grounded(
    extractor: EvidenceExtractor,
    evidence: Mapping[str, object],
    transcript: str,
    grounding: GroundingCheck,
) -> ExtractedEvidence:
    kept = keep_grounded(quotes_per_item(evidence), transcript, grounding)
    return ExtractedEvidence(extractor=extractor, quotes=kept.quotes, rejected=kept.rejected)


def passages_of(transcript: str, quotes: Mapping[PHQ8Item, tuple[str, ...]]) -> dict[PHQ8Item, str]:
    """Per item with quotes, what the speaker of each quote said in that turn, or the quote itself if no line has it.

    Lines of a turn are joined by a slash, turns by dots; a turn with two quotes occurs once. How often a problem comes
    is often said in the line after the quote.

    >>> said = "Participant: i lie awake\\nParticipant: most nights\\nEllie: i see"
    >>> passages_of(said, {PHQ8Item.SLEEP: ("i lie awake",), PHQ8Item.TIRED: ()})
    {<PHQ8Item.SLEEP: 'Sleep'>: 'i lie awake / most nights'}
    """
    lines = [line.partition(":") for line in transcript.split("\n")]
    turns = [[text.strip() for _, _, text in turn] for _, turn in groupby(lines, key=lambda line: line[0])]

    def around(quote: str) -> str:
        return next((" / ".join(turn) for turn in turns if any(quote in text for text in turn)), quote)

    return {item: " ... ".join(dict.fromkeys(map(around, of_item))) for item, of_item in quotes.items() if of_item}
