"""Imports of a data set."""

import pytest

from cli.imports import in_variant, new_participants
from schemas.errors import EmptyTranscriptError
from schemas.values.interviews import DataSet, TranscriptVariant, Utterance
from stages.participants.transcripts import transcript_of


def data_set(*rows: tuple[str, str]) -> DataSet:
    utterances = tuple(
        Utterance(speaker=speaker, value=value, start_s=float(at), stop_s=float(at + 1))
        for at, (speaker, value) in enumerate(rows)
    )
    return DataSet(transcripts={316: transcript_of(316, utterances)}, labels={}, splits={})


def test_a_variant_keeps_the_lines_of_its_speakers() -> None:
    interview = data_set(("Ellie", "how are you"), ("Participant", "fine"), ("Participant", "really"))

    (person,) = new_participants(in_variant(interview, TranscriptVariant.PARTICIPANT_ONLY))

    assert person.transcript == "Participant: fine\nParticipant: really"


def test_a_variant_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(EmptyTranscriptError, match="The transcript of participant 316 is empty in the variant"):
        in_variant(data_set(("Ellie", "hello")), TranscriptVariant.PARTICIPANT_ONLY)
