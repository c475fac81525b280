from stages.participants.splits import PUBLISHED_IDS, PUBLISHED_SPLITS


def test_the_splits_are_those_of_the_paper() -> None:
    assert {name: len(ids) for name, ids in PUBLISHED_SPLITS.items()} == {"train": 58, "val": 43, "test": 41}
    assert len(set(PUBLISHED_IDS)) == 142
    assert all(list(ids) == sorted(ids) for ids in PUBLISHED_SPLITS.values())
