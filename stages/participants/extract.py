"""Stage `extract`: the quotes of a participant per PHQ-8 item, from a language model or from the submission."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import chain, groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from schemas.errors import EvidenceGroundingError, EvidenceSchemaError, TranscriptError
from schemas.settings.run import QuantitativeSettings, RunSettings
from schemas.values.base import can_be_stored
from schemas.values.chat import ChatCall, Message
from schemas.values.participants import ITEMS_BY_KEY, EvidenceExtractor, ExtractedEvidence, PHQ8Item
from stages.participants.embed import embed_spoken
from stages.participants.score_prompt import item_list, score_list, texts_of_items
from stages.participants.score_reply import match_keys
from stages.participants.transcripts import PARTICIPANT, refuse_blank, utterances_of
from stages.ports import ChatModel, Embedder
from stages.replies.asking import ask_until_usable, messages_of
from stages.replies.parsing import closed_object, parse_reply, straighten_smart_quotes
from stages.texts.characters import DATA_RULE, fenced
from stages.vectors import similarities


def descriptions() -> Mapping[PHQ8Item, tuple[str, ...]]:
    """Sentences per item, in the questionnaire's order; the last two of each state that the symptom is absent."""
    return texts_of_items("item_descriptions.toml")


async def extract_by_similarity(transcript: str, *, embedder: Embedder, settings: RunSettings) -> ExtractedEvidence:
    """Quote, per item, so many utterances of the participant whose similarity to the item reaches the threshold.

    The similarity of an utterance to an item, (1 + cosine) / 2, is that to the nearest description of the item. The
    most similar are quoted as they were said, of equal ones the earlier, in the order of the transcript. Raises
    EmptyTranscriptError, TranscriptError when no line is the participant's, and what `embed_spoken` raises.
    """
    refuse_blank(transcript)
    utterances = utterances_of(PARTICIPANT, transcript)
    if not utterances:
        raise TranscriptError(
            f"No line of the transcript starts with '{PARTICIPANT}:'; correct the speakers in its file, and import "
            "it again."
        )
    texts = [*chain.from_iterable(descriptions().values()), *utterances]
    rows, cut, _ = await embed_spoken(texts, embedder, settings)
    said, described = rows[-len(utterances) :], iter(rows)
    quotes = {}
    for item, of_item in descriptions().items():
        to_nearest: NDArray[np.float64] = np.max([similarities(said, next(described)) for _ in of_item], axis=0)
        quotes[item] = tuple(utterances[at] for at in _nearest(to_nearest, settings.quantitative))
    return ExtractedEvidence(extractor=EvidenceExtractor.SIMILARITY, quotes=quotes, cut_texts=len(cut))


def _nearest(similarity: NDArray[np.float64], settings: QuantitativeSettings) -> list[int]:
    ranked = sorted(range(len(similarity)), key=lambda at: (-similarity[at], at))
    first = ranked[: settings.similarity_max_quotes]
    return sorted(at for at in first if similarity[at] >= settings.similarity_threshold)


_SYSTEM = (
    "You read interviews and copy out what the interviewed person says about eight symptoms of depression. "
    f"You answer with one JSON object and with nothing else. {DATA_RULE}"
)

_EXTRACT_PROMPT_FORM = "{" + ",\n ".join(f'"{item.evidence_key}": ["passage", "passage"]' for item in PHQ8Item) + "}"

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

{_EXTRACT_PROMPT_FORM}"""


def extraction_messages(transcript: str) -> tuple[Message, ...]:
    """The messages about one transcript, which is shown in full and as data."""
    return messages_of(_SYSTEM, f"{fenced('interview', transcript)}\n\n{_TASK}")


EVIDENCE_JSON_SCHEMA: Final = closed_object(
    {key: {"type": "array", "items": {"type": "string"}} for key in ITEMS_BY_KEY}
)
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


_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\ufeff"))
_TAG = re.compile(r"<[^<>\n]*>")


def keep_grounded(
    quotes: Mapping[PHQ8Item, Iterable[str]], transcript: str, settings: QuantitativeSettings
) -> tuple[dict[PHQ8Item, tuple[str, ...]], dict[PHQ8Item, int]]:
    """The quotes that occur in the transcript, in their order, and how many of each item do not; all, where there is no
    check. Raises EvidenceGroundingError when there were quotes and none is kept, if that is set."""
    given = {item: tuple(texts) for item, texts in quotes.items()}
    if not settings.evidence_quote_validation_enabled:
        return given, {}
    source = normalise(transcript)
    kept = {
        item: tuple(quote for quote in texts if _occurs_in(source, quote, settings)) for item, texts in given.items()
    }
    rejected = {item: missing for item, texts in given.items() if (missing := len(texts) - len(kept[item]))}
    if settings.evidence_quote_fail_on_all_rejected and rejected and not any(kept.values()):
        raise EvidenceGroundingError(sum(rejected.values()))
    return kept, rejected


def normalise(text: str) -> str:
    """The text without differences that models introduce: case, white space, typographic quotes, `<...>` tags. A tag
    ends on its line, so that a single `<` does not remove the rest of the transcript.

    >>> normalise("I’m <laughter> FINE,\\n really")
    "i'm fine, really"
    """
    plain = straighten_smart_quotes(unicodedata.normalize("NFKC", text)).translate(_INVISIBLE)
    return " ".join(_TAG.sub(" ", plain).split()).lower()


def _occurs_in(source: str, quote: str, settings: QuantitativeSettings) -> bool:
    wanted = normalise(quote)
    if not wanted or wanted in source:
        return bool(wanted)
    # A partial match compares the shorter text with parts of the longer one, so the quote must be the shorter.
    is_near = settings.evidence_quote_validation_mode == "fuzzy" and len(wanted) <= len(source)
    return is_near and fuzz.partial_ratio(wanted, source) / 100 >= settings.evidence_quote_fuzzy_threshold


_FORM = "one JSON object with all eight keys, each with a list of quotes"


async def extract_evidence(transcript: str, *, chat: ChatModel, settings: RunSettings) -> ExtractedEvidence:
    """Ask the model for the quotes of all items, and keep those that the grounding check finds. A reply that cannot be
    used is asked for again, and never becomes empty evidence. Raises EmptyTranscriptError before any call; after the
    last re-ask LLMResponseParseError, EvidenceSchemaError and EvidenceGroundingError; and the errors of the model's
    client."""
    refuse_blank(transcript)
    call = ChatCall(
        model=settings.model.quantitative_model,
        messages=extraction_messages(transcript),
        temperature=settings.model.temperature,
        json_mode=True,
        json_schema=EVIDENCE_JSON_SCHEMA,
        timeout_s=settings.ollama.timeout_seconds,
        purpose="extract evidence",
    )
    usable = await ask_until_usable(
        call,
        chat=chat,
        read=lambda text: read_evidence(text, transcript, grounding=settings.quantitative),
        form=_FORM,
        retries=settings.ragq.reply_retries,
    )
    return usable.read.model_copy(update={"reasks": usable.reasks})


def read_evidence(reply: str, transcript: str, *, grounding: QuantitativeSettings) -> ExtractedEvidence:
    """The grounded quotes in a model's reply, whose keys may be written in another way. Raises UnusableReply."""
    found, repeated, _ = match_keys(parse_reply(reply))
    if repeated:
        raise EvidenceSchemaError(dict.fromkeys(repeated, "given_more_than_once"))
    evidence = _grounded(EvidenceExtractor.LLM, found.value, transcript, grounding)
    return evidence.model_copy(update={"repairs": found.repairs})


def given_evidence(
    evidence: Mapping[str, object], transcript: str, *, grounding: QuantitativeSettings
) -> ExtractedEvidence:
    """The quotes of a submitted object, whose keys are evidence keys, with the same checks as those of a model."""
    refuse_blank(transcript)
    return _grounded(EvidenceExtractor.GIVEN, evidence, transcript, grounding)


def _grounded(
    extractor: EvidenceExtractor, evidence: Mapping[str, object], transcript: str, grounding: QuantitativeSettings
) -> ExtractedEvidence:
    quotes, rejected = keep_grounded(quotes_per_item(evidence), transcript, grounding)
    return ExtractedEvidence(extractor=extractor, quotes=quotes, rejected=rejected)


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
