"""Stage `extract`: the quotes of a participant per PHQ-8 item, from a language model or from the submission."""

from collections.abc import Mapping

from schemas.errors import EvidenceSchemaError
from schemas.values.chat import ChatCall
from schemas.values.participants import EvidenceExtractor, ExtractedEvidence
from stages.participants.evidence_schema import EVIDENCE_JSON_SCHEMA, quotes_per_item
from stages.participants.extract_prompt import extraction_messages
from stages.participants.grounding import GroundingCheck, keep_grounded
from stages.participants.item_keys import match_keys
from stages.participants.transcript_text import refuse_blank
from stages.ports import ChatModel
from stages.replies import parse_reply
from stages.replies.asking import ReplyReader, ask_until_usable

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
