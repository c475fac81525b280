import pytest

from schemas.errors import Refused
from schemas.values.participants import TranscriptVariant, Utterance
from stages.participants.transcripts import clean, transcript_of, vary


def utterances(*rows: str, start_s: float = 0.0) -> tuple[Utterance, ...]:
    """Utterances of two seconds each from `E: ...` and `P: ...`."""
    speakers = {"E": "Ellie", "P": "Participant"}
    return tuple(
        Utterance(speaker=speakers[row[0]], value=row[3:], start_s=start_s + 2 * at, stop_s=start_s + 2 * at + 2)
        for at, row in enumerate(rows)
    )


def values(utterances: tuple[Utterance, ...]) -> list[str]:
    return [utterance.value for utterance in utterances]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        (("P: am i on", "E: hi", "P: hello"), ["hi", "hello"]),
        (("P: <sync>", "E: hi", "P: [synching].", "P: hello"), ["hi", "hello"]),
        (("P: <Synch>", "P: hello", "P: we are in sync"), ["hello", "we are in sync"]),
        (("E: hi", "P: <laughter>"), ["hi", "<laughter>"]),
        ((), []),
    ],
    ids=["lead-in", "sync markers", "no interviewer", "nonverbal tags kept", "nothing"],
)
def test_cleaning_keeps_what_belongs_to_the_interview(rows: tuple[str, ...], kept: list[str]) -> None:
    assert values(clean(utterances(*rows), participant_id=300)) == kept


@pytest.mark.parametrize(
    ("participant_id", "start_s", "kept"),
    [
        (373, 391.0, ["a", "b"]),  # 391-393, 393-395: ends where the window begins
        (373, 392.0, ["a"]),  # 392-394 and 394-396: the second reaches into 395-428
        (373, 427.0, ["b"]),  # 427-429 begins inside
        (373, 428.0, ["a", "b"]),
        (444, 285.0, []),  # 285-287 and 287-289 against 286-387
        (300, 395.0, ["a", "b"]),  # another participant
    ],
)
def test_rows_that_overlap_an_interruption_are_dropped(participant_id: int, start_s: float, kept: list[str]) -> None:
    assert values(clean(utterances("E: a", "P: b", start_s=start_s), participant_id=participant_id)) == kept


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        ("both_speakers_clean", "Ellie: q1\nEllie: q2\nParticipant: a\nParticipant: b\nEllie: q3\nParticipant: c"),
        ("participant_only", "Participant: a\nParticipant: b\nParticipant: c"),
        ("participant_qa", "Ellie: q2\nParticipant: a\nParticipant: b\nEllie: q3\nParticipant: c"),
    ],
)
def test_variants_keep_their_speakers(variant: str, text: str) -> None:
    whole = transcript_of(300, utterances("E: q1", "E: q2", "P: a", "P: b", "E: q3", "P: c"))
    kept = [row for row in whole.utterances if f"{row.speaker}: {row.value}" in text.split("\n")]
    expected = transcript_of(300, kept)
    varied = vary(whole, TranscriptVariant(variant))
    assert varied == expected.model_copy(update={"variant": TranscriptVariant(variant)})
    assert varied.text == text


def test_a_variant_is_not_made_from_one_that_lacks_its_rows() -> None:
    alone = transcript_of(300, utterances("P: a")).model_copy(update={"variant": TranscriptVariant.PARTICIPANT_ONLY})
    assert vary(alone, TranscriptVariant.PARTICIPANT_ONLY).variant is TranscriptVariant.PARTICIPANT_ONLY
    with pytest.raises(Refused, match="variant 'participant_only', from which 'participant_qa' cannot be made"):
        vary(alone, TranscriptVariant.PARTICIPANT_QA)
