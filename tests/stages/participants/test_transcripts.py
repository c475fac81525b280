"""Transcripts, and their variants."""

import hashlib
import json

import pytest

from schemas.errors import Refused
from schemas.values.participants import Participant, TranscriptVariant, Utterance
from stages.participants.transcripts import clean, parse_transcript, transcript_of, vary
from stages.records import Parsed
from tests.data import public_data

HEADER = "start_time\tstop_time\tspeaker\tvalue\n"


def parsed(body: str) -> Parsed[Participant]:
    return parse_transcript((HEADER + body).encode(), file="7_TRANSCRIPT.csv", participant_id=7)


def test_rows_become_speaker_and_value_lines_unchanged() -> None:
    text = 'Ellie: hi\nParticipant: Um, "well" <laughter>  yes '
    assert parsed('0.5\t1\tEllie\thi\n2\t3.25\t Participant \tUm, "well" <laughter>  yes \n') == Parsed(
        Participant(
            id=7,
            transcript=text,
            transcript_hash=hashlib.sha256(text.encode()).hexdigest(),
            utterances=(
                Utterance(speaker="Ellie", value="hi", start_s=0.5, stop_s=1.0),
                Utterance(speaker="Participant", value='Um, "well" <laughter>  yes ', start_s=2.0, stop_s=3.25),
            ),
        )
    )


@pytest.mark.parametrize("body", ["", "\n\n", "1\t2\tEllie\t \n"])
def test_a_transcript_without_text_is_a_problem(body: str) -> None:
    assert [str(problem) for problem in parsed(body).problems] == [
        "7_TRANSCRIPT.csv: has no utterance with text; restore it, or remove its folder from the data set"
    ]


def test_times_that_are_no_seconds_are_problems_and_blank_ones_unknown() -> None:
    problems = parsed("\t\tEllie\thi\nsoon\tnan\tEllie\tthere\n").problems
    expected = [(3, f"{name} is not a number of seconds") for name in ("start_time", "stop_time")]
    assert [(problem.line, problem.found) for problem in problems] == expected


def test_other_speakers_and_rows_that_stop_before_they_start_are_kept() -> None:
    rows = "1\t2\tEllie\thi\n4\t3\tParticipant\thello\n5\t6\tRA\tone moment\n8\t7\tElie\tback\n"
    found = parsed(rows)
    assert found.problems == ()
    assert found.value.transcript == "Ellie: hi\nParticipant: hello\nRA: one moment\nElie: back"


def test_speech_after_a_sync_marker_is_kept_and_no_repr_contains_it() -> None:
    for value in ("<sync> hello", "[synching] okay so", "<synch>yes"):
        person = parsed(f"1\t2\tEllie\thi\n2\t3\tParticipant\t{value}\n").value
        assert vary(person, TranscriptVariant.PARTICIPANT_ONLY).transcript == f"Participant: {value}"
        assert value not in repr(person) + repr(person.utterances[1])


def test_naughty_strings_are_kept_as_they_are() -> None:
    strings = json.loads((public_data("naughty_strings") / "blns.json").read_text("utf-8"))
    values = [value for value in strings if value.strip() and not set(value) & set("\t\r\n\0")]
    body = "".join(f"1\t2\tEllie\t{value}\n" for value in values)
    assert [utterance.value for utterance in parsed(body).value.utterances] == values


def utterances(*rows: str, start_s: float = 0.0) -> tuple[Utterance, ...]:
    """Utterances of two seconds each from `E: ...` and `P: ...`."""
    speakers = {"E": "Ellie", "P": "Participant"}
    return tuple(
        Utterance(speaker=speakers[row[0]], value=row[3:], start_s=start_s + 2 * at, stop_s=start_s + 2 * at + 2)
        for at, row in enumerate(rows)
    )


def cleaned(utterances: tuple[Utterance, ...], participant_id: int = 300) -> list[str]:
    return [utterance.value for utterance in clean(utterances, participant_id=participant_id)]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        (("P: am i on", "E: hi", "P: hello"), ["hi", "hello"]),  # what was said before the interviewer
        (("P: <sync>", "E: hi", "P: [synching].", "P: hello"), ["hi", "hello"]),
        (("P: <Synch>", "P: hello", "P: we are in sync"), ["hello", "we are in sync"]),  # no interviewer
        (("E: hi", "P: <laughter>"), ["hi", "<laughter>"]),
        ((), []),
    ],
)
def test_cleaning_keeps_what_belongs_to_the_interview(rows: tuple[str, ...], kept: list[str]) -> None:
    assert cleaned(utterances(*rows)) == kept


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
    assert cleaned(utterances("E: a", "P: b", start_s=start_s), participant_id) == kept


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
    varied = vary(whole, TranscriptVariant(variant))
    assert varied == transcript_of(300, kept).model_copy(update={"variant": TranscriptVariant(variant)})
    assert varied.transcript == text


def test_a_variant_is_not_made_from_one_that_lacks_its_rows() -> None:
    alone = transcript_of(300, utterances("P: a")).model_copy(update={"variant": TranscriptVariant.PARTICIPANT_ONLY})
    assert vary(alone, TranscriptVariant.PARTICIPANT_ONLY).variant is TranscriptVariant.PARTICIPANT_ONLY
    with pytest.raises(Refused, match="variant 'participant_only', from which 'participant_qa' cannot be made"):
        vary(alone, TranscriptVariant.PARTICIPANT_QA)
