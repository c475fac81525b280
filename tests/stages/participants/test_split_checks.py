from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from schemas.values.participants import PHQ8Item, SplitMethod, SplitOrigin, StoredLabels, StoredSplit
from stages.participants.split_files import split_problems
from stages.participants.splits import PUBLISHED_IDS, PUBLISHED_SPLITS, ids_hash

RIGHT = StoredLabels(gender=0, phq8_binary=0, phq8_score=8, items=dict.fromkeys(PHQ8Item, 1))
EVERYBODY = dict.fromkeys(PUBLISHED_IDS, RIGHT)
PUBLISHED = SplitOrigin(method=SplitMethod.PUBLISHED)


def split(name: str, ids: Iterable[int], *, origin: SplitOrigin | None = None, of: str | None = None) -> StoredSplit:
    numbers = tuple(ids)
    return StoredSplit(
        data_set="data",
        name=name,
        called=name,
        participant_ids=numbers,
        csv_hash="c",
        ids_hash=of or ids_hash(numbers),
        origin=origin,
        imported_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


PAPER = [split(f"paper-{part}", ids, origin=PUBLISHED) for part, ids in PUBLISHED_SPLITS.items()]


def found(splits: list[StoredSplit], people: Mapping[int, StoredLabels] = EVERYBODY) -> list[str]:
    return [f"{problem.split}: {problem.found}" for problem in split_problems(splits, people)]


def test_participants_that_are_not_stored_or_not_labelled_are_named() -> None:
    people = {number: labels for number, labels in EVERYBODY.items() if number != 303}
    people[316] = RIGHT.model_copy(update={"items": None})

    assert found(PAPER, people) == [
        "paper-train: participant 303 not stored (no transcript)",
        "paper-test: participant 316 without item labels, in no metric",
    ]


def test_splits_that_share_participants_are_named() -> None:
    listed = SplitOrigin(method=SplitMethod.LISTED, file="ids.csv")
    splits = [split("paper-train", [303, 304], origin=listed), split("paper-test", [304, 316], origin=listed)]

    assert found([*splits, split("train", [303]), split("dev", [303])]) == [
        "paper-train: participant 304 also in paper-test",
        "train: participant 303 also in dev",
    ]


def test_other_participants_than_the_published_are_a_problem_unless_they_are_declared() -> None:
    ids = (*PUBLISHED_SPLITS["test"][1:], 303)
    drawn = SplitOrigin(method=SplitMethod.STRATIFIED, seed=7)

    assert found([split("paper-test", ids)]) == [
        "paper-test: lacks published participant 316; has unpublished participant 303"
    ]
    assert found([split("paper-test", ids, origin=drawn)]) == []


def test_members_that_were_changed_after_the_split_was_stored_are_noticed() -> None:
    assert found([split("pilot", [303], of="0" * 12)]) == ["pilot: its participants are not those of its hash"]
