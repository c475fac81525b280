"""How transcripts were cleaned."""

from enum import StrEnum


class TranscriptVariant(StrEnum):
    """How a transcript was cleaned before use."""

    UNKNOWN = "unknown"
    """Not recorded: imported before variants were stored, or from files that do not name theirs."""
    RAW = "raw"
    """As the data set has it."""
    BOTH_SPEAKERS_CLEAN = "both_speakers_clean"
    """Without lead-in, sync markers and interruptions; with both speakers."""
    PARTICIPANT_ONLY = "participant_only"
    """Clean, without the interviewer."""
    PARTICIPANT_QA = "participant_qa"
    """Clean, with the one interviewer row before each block of the participant."""
