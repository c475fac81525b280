import random

from demo.recording import transcript_file
from stages.participants.transcripts import parse_transcript


def test_turns_follow_one_another_in_time() -> None:
    data = transcript_file([("Ellie", "hi there"), ("Participant", "hello <laughter>")], random.Random(1))
    transcript, problems = parse_transcript(data, file="7_TRANSCRIPT.csv", participant_id=7)
    times = [time for utterance in transcript.utterances for time in (utterance.start_s or 0, utterance.stop_s or 0)]
    assert (problems, transcript.text) == ((), "Ellie: hi there\nParticipant: hello <laughter>")
    assert times == sorted(set(times))
