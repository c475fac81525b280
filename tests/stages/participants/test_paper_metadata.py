import json

import pytest

from stages.participants.paper_metadata import check_paper_metadata
from stages.participants.splits import split_of

SPLITS = {
    "paper-train": split_of("paper-train", [1, 2], data=b""),
    "paper-val": split_of("paper-val", [3], data=b""),
    "paper-test": split_of("paper-test", [4], data=b""),
}


def found(data: bytes) -> list[str]:
    return [problem.found for problem in check_paper_metadata(data, splits=SPLITS)]


def test_other_ids_and_sizes_than_in_the_csvs_are_problems() -> None:
    metadata = {"participant_ids": {"train": [1, 9], "val": [3]}, "actual_sizes": {"val": 43}}
    assert found(json.dumps(metadata).encode()) == [
        "train and its CSV differ in 2, 9",
        "val has the size 43 and its CSV 1 ids",
        "test and its CSV differ in 4",
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"{}", "participant_ids: Field required"),
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
    ],
)
def test_a_description_that_cannot_be_read_is_a_problem(data: bytes, what: str) -> None:
    assert found(data) == [what]
