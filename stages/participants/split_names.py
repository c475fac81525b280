"""The names of the splits of the DAIC-WOZ layout, and which splits may be the source of references."""

from collections.abc import Iterable, Mapping

TRAIN_AND_DEV = "train+dev"

PAPER_FILES: Mapping[str, str] = {
    "paper-train": "paper_splits/paper_split_train.csv",
    "paper-val": "paper_splits/paper_split_val.csv",
    "paper-test": "paper_splits/paper_split_test.csv",
}
"""Split name -> its file, relative to the data set."""

TRAINING_SPLITS: Mapping[str, str] = {"paper-train": "paper-train", "avec-train": "train"}
"""Name of a published split as the source of references -> its name."""

TEST_SPLITS = frozenset({"paper-val", "paper-test", "dev", "test", TRAIN_AND_DEV})
"""The published splits that nobody takes references from."""

MAKE_SPLITS = (
    "`ragq import participants DIR` imports the splits of a data set, `ragq splits make --from FILE` makes others."
)


def training_name(split: str) -> str:
    """The name of a stored split as the source of references; all but one keep theirs.

    >>> training_name("train"), training_name("paper-train"), training_name("mine")
    ('avec-train', 'paper-train', 'mine')
    """
    return next((name for name, stored in TRAINING_SPLITS.items() if stored == split), split)


def stored_name(source: str) -> str:
    """The name that a source of references is stored by.

    >>> stored_name("avec-train"), stored_name("mine")
    ('train', 'mine')
    """
    return TRAINING_SPLITS.get(source, source)


def sources(stored: Iterable[str]) -> list[str]:
    """The stored splits that may be the source of references, by their names as such: likely ones first.

    >>> sources(["mine", "paper-test", "our-train", "train"])
    ['avec-train', 'our-train', 'mine']
    """
    names = {training_name(split) for split in stored} - TEST_SPLITS
    own = sorted(names - TRAINING_SPLITS.keys(), key=lambda name: ("train" not in name.lower(), name))
    return [name for name in TRAINING_SPLITS if name in names] + own


def first_index(stored: Iterable[str]) -> str:
    """How the first index is built of the stored splits, in words.

    >>> first_index(["clinic-test", "clinic-train"])
    '`ragq index references --split clinic-train` builds one.'
    """
    return next((f"`ragq index references --split {name}` builds one." for name in sources(stored)), MAKE_SPLITS)
