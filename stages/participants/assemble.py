"""Stage `assemble`: the reference block and the scoring prompt."""

from collections.abc import Mapping

from schemas.values.participants import AssembledPrompt, Reference, SimilarityStatistics
from schemas.values.phq8 import PHQ8Item
from stages.participants.evidence_prompt import evidence_messages
from stages.participants.reference_block import PromptFormat, reference_block, shown
from stages.participants.score_prompt import SeverityMode, scoring_messages
from stages.participants.transcript_text import refuse_blank


def assemble_prompt(
    transcript: str,
    references: Mapping[PHQ8Item, tuple[Reference, ...]] | None,
    chunk_texts: Mapping[int, str],
    *,
    passages: Mapping[PHQ8Item, str] | None,
    severity_mode: SeverityMode,
    prompt_format: PromptFormat,
) -> AssembledPrompt:
    """The prompt about one participant, zero-shot if `references` is None.

    It shows the transcript; if `passages` is not None, only those, by item.
    In the format `xml` a prompt without any reference is a zero-shot prompt. Texts are by chunk id. Raises
    EmptyTranscriptError for a blank transcript and InputChangedError when a chunk's text differs from the one that was
    retrieved.
    """
    refuse_blank(transcript)
    block = "" if references is None else reference_block(references, chunk_texts, prompt_format=prompt_format)
    statistics = {item: similarity_statistics((references or {}).get(item, ())) for item in PHQ8Item}
    if passages is None:
        messages = scoring_messages(transcript, block, severity_mode=severity_mode)
    else:
        messages = evidence_messages(passages, block)
    return AssembledPrompt(
        block=block,
        messages=messages,
        statistics=statistics,
        entries=sum(of_item.count for of_item in statistics.values()),
    )


def similarity_statistics(references: tuple[Reference, ...]) -> SimilarityStatistics:
    """Count, mean and maximum over the references in the block; 0, None, None without any."""
    values = [reference.similarity for reference in shown(references)]
    return SimilarityStatistics(
        count=len(values),
        mean=sum(values) / len(values) if values else None,
        maximum=max(values, default=None),
    )
