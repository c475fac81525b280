import hashlib
import json
import os
from pathlib import Path

import pytest

from schemas.values.participants import RowIrregularity, Transcript, TranscriptVariant, Utterance
from stages.files.records import Parsed
from stages.participants.transcripts import parse_transcript, vary

HEADER = "start_time\tstop_time\tspeaker\tvalue\n"
PUBLIC_DATA = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data"))


def parsed(body: str) -> Parsed[Transcript]:
    return parse_transcript((HEADER + body).encode(), file="7_TRANSCRIPT.csv", participant_id=7)


def test_rows_become_speaker_and_value_lines_unchanged() -> None:
    text = 'Ellie: hi\nParticipant: Um, "well" <laughter>  yes '
    assert parsed('0.5\t1\tEllie\thi\n2\t3.25\t Participant \tUm, "well" <laughter>  yes \n') == Parsed(
        Transcript(
            participant_id=7,
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
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


def test_blank_times_are_unknown_and_wrong_ones_are_problems() -> None:
    rows = "\t\tEllie\thi\nsoon\tnan\tEllie\tthere\n"
    assert [(problem.line, problem.found) for problem in parsed(rows).problems] == [
        (3, "start_time is not a number of seconds"),
        (3, "stop_time is not a number of seconds"),
    ]


def test_other_speakers_and_rows_that_stop_before_they_start_are_kept_and_counted() -> None:
    rows = "1\t2\tEllie\thi\n4\t3\tParticipant\thello\n5\t6\tRA\tone moment\n8\t7\tElie\tback\n"
    found = parsed(rows)
    assert found.problems == ()
    assert found.value.text == "Ellie: hi\nParticipant: hello\nRA: one moment\nElie: back"
    assert found.value.irregular_rows == {RowIrregularity.STOP_BEFORE_START: 2, RowIrregularity.UNKNOWN_SPEAKER: 2}


@pytest.mark.parametrize("value", ["<sync> hello", "[synching] okay so", "<synch>yes"])
def test_speech_after_a_sync_marker_is_kept(value: str) -> None:
    transcript = parsed(f"1\t2\tEllie\thi\n2\t3\tParticipant\t{value}\n").value
    assert vary(transcript, TranscriptVariant.PARTICIPANT_ONLY).text == f"Participant: {value}"


def test_no_repr_contains_utterances() -> None:
    assert "private" not in repr(parsed("1\t2\tEllie\tprivate\n").value.utterances[0])
    assert "private" not in repr(parsed("1\t2\tEllie\tprivate\n"))


def test_naughty_strings_are_kept_as_they_are() -> None:
    source = PUBLIC_DATA / "naughty_strings/blns.json"
    if not source.exists():
        pytest.skip(f"{source} is not there; set RAGQ_DATA_DIR")
    values = [
        value for value in json.loads(source.read_text("utf-8")) if value.strip() and not set(value) & set("\t\r\n\0")
    ]
    body = "".join(f"1\t2\tEllie\t{value}\n" for value in values)
    assert [utterance.value for utterance in parsed(body).value.utterances] == values
