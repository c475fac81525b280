"""Invalid requests are refused by exit code 1 or 2, with every problem named and nothing stored."""

import json
from pathlib import Path

from tests.acceptance.harness import Finished, Installation
from tests.acceptance.small_data_set import small_files, transcript_file, write_files

WRONG_USAGE = (
    "submit",
    "submit --split paper-test --participants 316",
    "submit --split paper-test --few-shot-only --zero-shot-only",
    "submit --participants 316 --limit 1",
    "submit --participants three",
    "show j12",
    "retry 12",
    "no-such-command",
)


def refused(done: Finished) -> str:
    """The error message of a refused command, which prints nothing else."""
    assert (done.exit_code, done.stdout, "Traceback" in done.stderr) == (1, "", False)
    return done.stderr


def test_what_cannot_be_done_is_refused_with_every_problem(shared: Installation, tmp_path: Path) -> None:
    for line in WRONG_USAGE:
        done = shared.ragq(*line.split())
        assert (done.exit_code, done.stdout, "Usage: " in done.stderr) == (2, "", True), line

    path = tmp_path / "evidence.json"
    path.write_text(json.dumps({"316": {"PHQ8_Sleep": "text", "PHQ8_Tired": [1], "Moving": ["restless"]}, "302": {}}))
    message = refused(shared.ragq("submit", "--participants", "316,319", "--evidence", str(path)))
    assert message.splitlines() == [
        "ragq: The evidence cannot be used:",
        "  participant 302 is not part of this run",
        "  participant 316: 1 key that no item has; items are PHQ8_NoInterest, PHQ8_Depressed, PHQ8_Sleep, PHQ8_Tired, "
        "PHQ8_Appetite, PHQ8_Failure, PHQ8_Concentrating, PHQ8_Moving",
        "  participant 316: PHQ8_Sleep: expected_list_got_str",
        "  participant 316: PHQ8_Tired: expected_list_str_got_int_at_0",
        "  participant 319 has no entry; give an empty object for no evidence",
    ]

    message = refused(shared.ragq("runs", DATABASE_URL="postgresql://ragq:secret@127.0.0.1:1/ragq"))
    assert ("cannot be reached" in message, "`ragq up`" in message, "secret" in message) == (True, True, False)


def test_a_data_set_with_bad_files_is_refused_whole_with_file_and_line(shared: Installation, tmp_path: Path) -> None:
    files = dict(small_files())
    train = "paper_splits/paper_split_train.csv"
    files[train] = files[train].replace(b"Participant_ID", b"Participant", 1)
    rows = files[transcript_file(304)].split(b"\n")
    rows[3] = b"not a time" + rows[3][rows[3].index(b"\t") :]
    files[transcript_file(304)] = b"\n".join(rows)

    message = refused(
        shared.ragq("import", "participants", str(write_files(tmp_path / "data", files)), "--name", "bad")
    )

    assert [word in message for word in (f"{transcript_file(304)}:4:", train, "Participant_ID")] == [True] * 3
    assert (
        shared.rows("SELECT 1 FROM participant WHERE data_set = 'bad' UNION SELECT 1 FROM split WHERE name ~ 'bad'")
        == []
    )
