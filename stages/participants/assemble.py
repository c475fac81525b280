"""Stage `assemble`: the reference block and the scoring prompt."""

from collections.abc import Mapping
from typing import Final, Literal

from schemas.errors import DomainError, FailureCategory
from schemas.settings.run import RunSettings
from schemas.values.chat import Message
from schemas.values.participants import AssembledPrompt, PHQ8Item, Reference, SimilarityStatistics
from stages.models import most_prompt_tokens, most_tokens, reply_room
from stages.participants.score_prompt import evidence_messages, scoring_messages
from stages.participants.transcripts import refuse_blank
from stages.texts.characters import short_hash


def text_of(reference: Reference, chunk_texts: Mapping[int, str]) -> str:
    """The chunk's text. Raises DomainError when it is missing or differs from the one that was retrieved."""
    text = chunk_texts.get(reference.chunk_id)
    if text is not None and short_hash(text) == reference.chunk_hash:
        return text
    found, category = "has another text now", FailureCategory.REFERENCE_ARTIFACT_CORRUPT
    if text is None:
        found, category = "is gone", FailureCategory.REFERENCE_ARTIFACT_MISSING
    raise DomainError(
        f"Chunk {reference.chunk_id} of participant {reference.participant_id} {found} since it was retrieved; "
        "retry the job from stage 'retrieve'.",
        category,
    )


PromptFormat = Literal["xml", "sentinel", "notebook"]
"""The last line of the block, and what stands for no references: see `reference_block`."""

_OPEN: Final = "<Reference Examples>"
_CLOSE: Final = "</Reference Examples>"
NO_ENTRIES: Final = f"{_OPEN}\n\n{_CLOSE}\n"
"""What the block takes beside its entries."""
_SENTINEL: Final = "No valid evidence found"


def reference_block(
    items: Mapping[PHQ8Item, tuple[Reference, ...]], chunk_texts: Mapping[int, str], *, prompt_format: PromptFormat
) -> str:
    """All references of all items in one block. An entry is `(PHQ8_Sleep Score: 2)` and, on the next line, the
    unchanged chunk, with a blank line before, between and after entries. References without a score are omitted.
    Without entries the block is an empty string in the format `xml`, and a sentence between the tags in the others."""
    # The notebook of the paper repeated the opening tag.
    close = _OPEN if prompt_format == "notebook" else _CLOSE
    if entries := [entry(item, one, chunk_texts) for item in PHQ8Item for one in shown(items.get(item, ()))]:
        return "\n\n".join([_OPEN, *entries, close])
    return "" if prompt_format == "xml" else f"{_OPEN}\n{_SENTINEL}\n{close}"


def shown(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    """The references with a score, which the block shows."""
    return tuple(reference for reference in references if reference.score is not None)


def entry(item: PHQ8Item, reference: Reference, chunk_texts: Mapping[int, str]) -> str:
    """One reference of the block. Raises DomainError as `reference_block` does."""
    return f"({item.evidence_key} Score: {reference.score})\n{text_of(reference, chunk_texts)}"


_BETWEEN = 3
"""Tokens of the lines between two references."""


def assemble_prompt(
    transcript: str,
    references: Mapping[PHQ8Item, tuple[Reference, ...]] | None,
    chunk_texts: Mapping[int, str],
    *,
    passages: Mapping[PHQ8Item, str] | None,
    settings: RunSettings,
    context_tokens: int | None = None,
) -> AssembledPrompt:
    """The prompt about one participant, zero-shot if `references` is None. It shows the transcript; if `passages` is
    not None, only those, by item. With `context_tokens`, prompt and reply fit into so many as long as the transcript
    does: the references of least similarity are left out. Raises EmptyTranscriptError, and DomainError when a chunk's
    text differs from the one that was retrieved."""
    refuse_blank(transcript)

    def messages_with(block: str) -> tuple[Message, ...]:
        if passages is None:
            return scoring_messages(transcript, block, severity_mode=settings.quantitative.severity_inference_mode)
        return evidence_messages(passages, block)

    kept = references
    if references is not None and context_tokens is not None:
        taken = most_prompt_tokens(messages_with(NO_ENTRIES)) + reply_room(context_tokens, None)
        kept = fitting(references, chunk_texts, room=context_tokens - taken)
    block = "" if kept is None else reference_block(kept, chunk_texts, prompt_format=settings.ragq.prompt_format)
    statistics = {item: similarity_statistics((kept or {}).get(item, ())) for item in PHQ8Item}
    entries = sum(of_item.count for of_item in statistics.values())
    return AssembledPrompt(
        block=block,
        messages=messages_with(block),
        statistics=statistics,
        entries=entries,
        left_out=sum(len(shown(of_item)) for of_item in (references or {}).values()) - entries,
    )


def fitting(
    references: Mapping[PHQ8Item, tuple[Reference, ...]], chunk_texts: Mapping[int, str], *, room: int
) -> dict[PHQ8Item, tuple[Reference, ...]]:
    """The most similar references whose entries take `room` tokens together at most, in their order of before. Of equal
    similarity, those of earlier items come first. The first that does not fit is left out with all after it."""
    all_shown = [(item, one) for item in PHQ8Item for one in shown(references.get(item, ()))]
    kept: set[tuple[PHQ8Item, Reference]] = set()
    for item, one in sorted(all_shown, key=lambda pair: -pair[1].similarity):
        room -= most_tokens(entry(item, one, chunk_texts)) + _BETWEEN
        if room < 0:
            break
        kept.add((item, one))
    return {item: tuple(one for one in of_item if (item, one) in kept) for item, of_item in references.items()}


def similarity_statistics(references: tuple[Reference, ...]) -> SimilarityStatistics:
    """Count, mean and maximum over the references in the block; 0, None, None without any."""
    values = [reference.similarity for reference in shown(references)]
    mean = sum(values) / len(values) if values else None
    return SimilarityStatistics(count=len(values), mean=mean, maximum=max(values, default=None))
