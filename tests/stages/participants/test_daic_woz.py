"""A folder in the layout of DAIC-WOZ, and its labels."""

from typing import Any

import pytest

from schemas.values.participants import DataSet, Person, PHQ8Item
from stages.participants.daic_woz import ITEM_LABEL_FILES, LABEL_FILES, parse_data_set, parse_labels
from stages.participants.splits import split_of, train_and_dev
from stages.participants.transcripts import transcript_of

NO_NUMBER = "Input should be a valid integer, unable to parse string as an integer"
ITEM_HEADER = "Participant_ID,PHQ8_Binary,PHQ8_Score,Gender," + ",".join(item.evidence_key for item in PHQ8Item)
ITEMS = dict(zip(PHQ8Item, (1, 2, 2, 3, 1, 0, 1, 0), strict=True))  # adds up to 10
TRAIN = f"{ITEM_HEADER}\n303,0,0,0,0,0,0,0,0,0,0,0\n302,1,10,1,1,2,2,3,1,0,1,0\n".encode()
DEV = f"{ITEM_HEADER}\n319,0,8,0,1,1,1,1,1,1,1,1\n".encode()


NAMES = {
    **{part: f"{part}_split_Depression_AVEC2017.csv" for part in ("train", "dev", "test")},
    "totals": "full_test_split.csv",
    **{f"paper_{part}": f"paper_splits/paper_split_{part}.csv" for part in ("train", "val", "test")},
    **{f"of_{number}": f"transcripts/{number}_P/{number}_TRANSCRIPT.csv" for number in (300, 302, 303, 319)},
}
SAID = b"start_time\tstop_time\tspeaker\tvalue\n1\t2\tEllie\thi\n"


def whole(**changes: bytes) -> dict[str, bytes]:
    files = {
        "train": TRAIN,
        "dev": DEV,
        "test": b"participant_ID,Gender\n300,1\n",
        "totals": b"Participant_ID,PHQ_Binary,PHQ_Score,Gender\n300,0,2,1\n",
        "paper_train": b"Participant_ID\n302\n",
        "paper_val": b"Participant_ID\n303\n",
        "paper_test": b"Participant_ID\n319\n",
        **{f"of_{number}": SAID for number in (303, 302, 319, 300)},
    } | changes
    strange = {"303_COVAREP.csv": b"\0", "304_TRANSCRIPT.csv": b"of someone else"}
    return {
        **{NAMES[name]: data for name, data in files.items()},
        **{f"transcripts/303_P/{name}": data for name, data in strange.items()},
    }


def problems_with(**changes: bytes) -> list[str]:
    return [str(problem) for problem in parse_data_set(whole(**changes)).problems]


def test_a_whole_data_set_is_read_in_order_of_ids() -> None:
    parsed = parse_data_set(whole(test=b"participant_ID,Gender\n300,1\n301,0\n"))
    said = parsed.value.participants[300].utterances
    labels: dict[int, dict[str, Any]] = {
        300: {"gender": 1, "phq8_binary": 0, "phq8_score": 2},
        302: {"gender": 1, "phq8_binary": 1, "phq8_score": 10, "items": ITEMS},
        303: {"gender": 0, "phq8_binary": 0, "phq8_score": 0, "items": dict.fromkeys(PHQ8Item, 0)},
        319: {"gender": 0, "phq8_binary": 0, "phq8_score": 8, "items": dict.fromkeys(PHQ8Item, 1)},
    }
    train, dev = split_of("train", [303, 302], data=TRAIN), split_of("dev", [319], data=DEV)
    assert parsed.problems == ()
    assert parsed.value == DataSet(
        participants={number: transcript_of(number, said).model_copy(update=known) for number, known in labels.items()},
        labels={301: Person(id=301, gender=0)},
        splits={
            "train": train,
            "dev": dev,
            "train+dev": train_and_dev([train, dev]),
            "paper-train": split_of("paper-train", [302], data=b"Participant_ID\n302\n"),
            "paper-val": split_of("paper-val", [303], data=b"Participant_ID\n303\n"),
            "paper-test": split_of("paper-test", [319], data=b"Participant_ID\n319\n"),
        },
    )
    assert [*parsed.value.participants] == [300, 302, 303, 319]
    with_blank = f"{ITEM_HEADER}\n319,0,8,0,1,1,,1,1,1,1,1\n".encode()
    rebuilt = parse_data_set(whole(dev=with_blank), patch_missing_items=True)
    assert (rebuilt.problems, rebuilt.value.patched) == ((), {319: PHQ8Item.SLEEP})
    assert rebuilt.value.participants[319].items == dict.fromkeys(PHQ8Item, 1)


def test_the_problems_of_all_files_are_reported_together() -> None:
    assert problems_with(of_319=b"value\n", dev=b"\xff", totals=b"Participant_ID\n") == [
        "transcripts/319_P/319_TRANSCRIPT.csv:1: lacks the columns start_time, stop_time, speaker and has value; "
        "separate the columns with a TAB and name them in the first line",
        "dev_split_Depression_AVEC2017.csv:1: is not UTF-8; save it as UTF-8",
        "full_test_split.csv:1: lacks the columns PHQ_Binary, PHQ_Score, Gender and has Participant_ID; "
        "separate the columns with a COMMA and name them in the first line",
    ]
    assert problems_with(paper_train=b"Participant_ID\n302\n300\n") == [
        "paper_splits/paper_split_train.csv: participants 300 have no item labels; "
        "add them to train_split_Depression_AVEC2017.csv or dev_split_Depression_AVEC2017.csv"
    ]
    assert problems_with(paper_val=b"Participant_ID\n303\n302\n") == [
        "paper_splits/paper_split_train.csv: participant 302 also in paper-val; keep each in one of them"
    ]
    assert problems_with(test=b"participant_ID,Gender\n300,0\n") == [
        "test_split_Depression_AVEC2017.csv: participant 300 has another gender in full_test_split.csv; "
        "make the two agree"
    ]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("303,1,11,0,1,2,2,3,1,0,1,0", "the score is 11 and the items add up to 10"),
        ("303,0,10,0,1,2,2,3,1,0,1,0", "binary is 0 and the score 10, and 1 means a score of 10 or more"),
        # What cannot be rebuilt stays a problem.
        ("319,1,10,0,1,2,,,1,0,1,0", "2 items are blank; only a single one can be computed"),
        ("319,1,16,0,1,2,,3,1,0,1,0", "PHQ8_Sleep is blank, and the score leaves 8 for it"),
        ("319,0,7,0,1,2,,3,1,0,1,0", "PHQ8_Sleep is blank, and the score leaves -1 for it"),
        ("303,1,10,0,1,2,4,3,1,0,1,0", "items.PHQ8_Sleep: Input should be less than or equal to 3"),
        ("303,1,10,,1,2,2,3,1,0,1,0", f"Gender: {NO_NUMBER}"),
        ("x,1,10,0,1,2,2,3,1,0,1,0", f"Participant_ID: {NO_NUMBER}"),
        ("303,1,10.5,0,1,2,2,3,1,0,1,0", f"PHQ8_Score: {NO_NUMBER}"),
    ],
)
def test_contradictory_labels_are_problems(row: str, what: str) -> None:
    kind = LABEL_FILES[ITEM_LABEL_FILES["train"]]
    (problem,) = parse_labels(kind, f"{ITEM_HEADER}\n{row}".encode(), file="train.csv", patch=True).problems

    assert (problem.line, problem.found) == (2, what)
