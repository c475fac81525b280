import json

import pytest

from stages.participants.split_files import parse_listed_splits
from stages.participants.splits import PUBLISHED_SPLITS


def problems(data: bytes) -> list[str]:
    return [str(problem) for problem in parse_listed_splits(data, file="ids").problems]


def test_the_papers_metadata_lists_its_three_splits() -> None:
    data = json.dumps({"seed": 42, "methodology": {"x": 1}, "participant_ids": PUBLISHED_SPLITS}).encode()

    parsed = parse_listed_splits(data, file="ids")

    assert parsed.problems == ()
    assert {split.name: split.participant_ids for split in parsed.value} == {
        f"paper-{part}": ids for part, ids in PUBLISHED_SPLITS.items()
    }


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "ids:1: lacks the columns Participant_ID, split"),
        (b"Participant_ID,split\n", "ids: lists no participant"),
        (b"Participant_ID,split\n3O3,pilot\n", "ids:2: Participant_ID is not a whole number, 1..999999"),
        (b"Participant_ID,split\n303,\n", "ids: a split has no usable name"),
        (b"Participant_ID,split\n303,paper\n", "ids: 'paper' stands for another split"),
        (b"Participant_ID,split\n303,pilot\n303,pilot\n", "ids: pilot lists 303 more than once"),
        (b"{", "ids: Invalid JSON"),
        (b'{"participant_ids": {"train": ["x"]}}', "ids: participant_ids.train.0: Input should be a valid integer"),
        (b'{"participant_ids": {"train": [0, 303]}}', "ids: paper-train lists 1 numbers outside 1..999999"),
        (b'{"participant_ids": {"val": []}}', "ids: paper-val lists no participant"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(data: bytes, found: str) -> None:
    assert problems(data)[0].startswith(found)
