"""`ragq splits`."""

import json
from pathlib import Path

from schemas.errors import Refused
from stages.participants.splits import PUBLISHED_SPLITS
from tests.acceptance.small_data_set import plain_files, small_files, write_files
from tests.cli.conftest import Ragq


def members(ragq: Ragq, name: str) -> list[int]:
    listed = json.loads(ragq("splits", "list", "--json").stdout)["items"]
    return next(list(split["participant_ids"]) for split in listed if split["name"] == name)


def test_a_seed_draws_the_papers_splits_anew_and_none_overlaps_or_is_replaced_unasked(
    ragq: Ragq, tmp_path: Path
) -> None:
    ragq("import", "participants", str(write_files(tmp_path / "data", plain_files())))
    ragq("splits", "make", "--paper")
    Path("mine.csv").write_text("Participant_ID,split\n303,paper-test\n")

    overlapping = ragq("splits", "make", "--from", "mine.csv", "--replace").exception
    assert isinstance(overlapping, Refused)
    assert "paper-train: participant 303 also in paper-test" in str(overlapping)
    assert members(ragq, "paper-test") == list(PUBLISHED_SPLITS["test"])
    refused = ragq("splits", "make", "--paper", "--seed", "7").exception
    assert isinstance(refused, Refused)
    assert "split paper-train (58 other participants, published ids)" in str(refused)
    assert "--replace" in str(refused)
    done = ragq("splits", "make", "--paper", "--seed", "7", "--replace")

    assert done.stdout.splitlines() == [
        "split paper-train: 58 participants, the paper's rule, seed 7 (replaced)",
        "split paper-val: 43 participants, the paper's rule, seed 7 (replaced)",
        "split paper-test: 41 participants, the paper's rule, seed 7 (replaced)",
    ]
    first = members(ragq, "paper-test")
    assert first != list(PUBLISHED_SPLITS["test"])
    assert ragq("splits", "make", "--paper", "--seed", "7").exit_code == 0
    assert members(ragq, "paper-test") == first
    assert ragq("splits", "list").exit_code == 0
    listed = json.loads(ragq("splits", "list", "--json").stdout)["items"]
    made_by = {split["name"]: split["made_by"] for split in listed}
    assert (made_by["paper-test"], made_by["train"]) == ("the paper's rule, seed 7", "its file")
    assert [split["name"] for split in listed if not split["imported_at"].endswith("Z")] == []


def test_the_list_says_what_is_wrong_and_exits_with_1(ragq: Ragq, tmp_path: Path) -> None:
    ragq("import", "participants", str(write_files(tmp_path / "small", small_files())))

    checked = ragq("splits", "list")

    assert checked.exit_code == 1
    assert "paper-test: lacks published participant 339, 345," in checked.stdout
    listed = json.loads(ragq("splits", "list", "--json").stdout)["items"]
    assert {one["name"] for one in listed if one["problems"]} == {"paper-test", "paper-train"}
