from demo.paper_splits import PAPER_SPLITS, PARTICIPANT_IDS


def test_the_splits_are_those_of_the_paper() -> None:
    assert {name: len(ids) for name, ids in PAPER_SPLITS.items()} == {"train": 58, "val": 43, "test": 41}
    assert len(set(PARTICIPANT_IDS)) == 142
    assert all(list(ids) == sorted(ids) for ids in PAPER_SPLITS.values())
