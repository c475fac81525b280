"""The text of a transcript: `speaker: value` lines."""

from schemas.errors import EmptyTranscriptError


def refuse_blank(transcript: str) -> None:
    """Raise EmptyTranscriptError for a blank transcript."""
    if not transcript.strip():
        raise EmptyTranscriptError("The transcript has no text; import the participant's interview again.")


def utterances_of(speaker: str, transcript: str) -> list[str]:
    """The utterances of a speaker, line by line, each text once, without the speaker's name.

    >>> utterances_of("Participant", "Ellie: how are you\\nParticipant: fine\\nParticipant: fine")
    ['fine']
    """
    start = f"{speaker}:"
    said = (line.removeprefix(start).strip() for line in transcript.split("\n") if line.startswith(start))
    return list(dict.fromkeys(text for text in said if text))
