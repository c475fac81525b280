"""The names of the splits of the DAIC-WOZ layout."""

from collections.abc import Mapping

TRAIN_AND_DEV = "train+dev"

PAPER_FILES: Mapping[str, str] = {
    "paper-train": "paper_splits/paper_split_train.csv",
    "paper-val": "paper_splits/paper_split_val.csv",
    "paper-test": "paper_splits/paper_split_test.csv",
}
"""Split name -> its file, relative to the data set."""

TRAINING_SPLITS: Mapping[str, str] = {"paper-train": "paper-train", "avec-train": "train"}
"""Name of a split as the source of references -> its name. The other splits are for testing."""


def training_name(split: str) -> str:
    """The name of a stored split as the source of references; other splits have none and keep theirs.

    >>> training_name("train"), training_name("paper-train"), training_name("dev")
    ('avec-train', 'paper-train', 'dev')
    """
    return next((name for name, stored in TRAINING_SPLITS.items() if stored == split), split)
