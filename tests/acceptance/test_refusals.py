"""Invalid requests are refused with exit code 1, with every problem named and nothing stored."""

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Finished, Installation
from tests.acceptance.small_data_set import small_files, transcript_file, write_files


def refused(done: Finished) -> str:
    """The error message of a refused command, which prints nothing else."""
    assert (done.exit_code, done.stdout, "Traceback" in done.stderr) == (1, "", False)
    return done.stderr


def test_evidence_of_a_wrong_shape_is_refused_with_every_problem(shared: Installation, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    "arguments",
    [
        ("submit",),
        ("submit", "--split", "paper-test", "--participants", "316"),
        ("submit", "--split", "paper-test", "--few-shot-only", "--zero-shot-only"),
        ("submit", "--participants", "316", "--limit", "1"),
        ("submit", "--participants", "three"),
        ("show", "j12"),
        ("retry", "12"),
        ("no-such-command",),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(shared: Installation, arguments: tuple[str, ...]) -> None:
    done = shared.ragq(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Usage: " in done.stderr


def test_a_data_set_with_bad_files_is_refused_whole_with_file_and_line(
    install: Install, migrated_template: str, tmp_path: Path
) -> None:
    files = dict(small_files())
    train = "paper_splits/paper_split_train.csv"
    files[train] = files[train].replace(b"Participant_ID", b"Participant", 1)
    rows = files[transcript_file(304)].split(b"\n")
    rows[3] = b"not a time" + rows[3][rows[3].index(b"\t") :]
    files[transcript_file(304)] = b"\n".join(rows)
    with install(migrated_template) as installation:
        message = refused(installation.ragq("import", "participants", str(write_files(tmp_path / "data", files))))

        assert [f"{transcript_file(304)}:4:" in message, f"{train}" in message, "Participant_ID" in message] == [
            True
        ] * 3
        assert installation.value("SELECT count(*) FROM participant") == 0
        assert installation.value("SELECT count(*) FROM split") == 0


def test_an_unavailable_database_is_refused_with_the_next_step(shared: Installation) -> None:
    message = refused(shared.ragq("runs", DATABASE_URL="postgresql://ragq:secret@127.0.0.1:1/ragq"))

    assert ("cannot be reached" in message, "`ragq up`" in message, "secret" in message) == (True, True, False)
