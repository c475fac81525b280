"""The names of the splits of the DAIC-WOZ layout, and which splits may be the source of references."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.participants import SplitAddress

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


class NamedSplit(Protocol):
    """A stored split, as SplitAddress has it."""

    @property
    def data_set(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def called(self) -> str: ...


Split = TypeVar("Split", bound=NamedSplit)


def named_splits(stored: Iterable[Split], asked: str) -> list[Split]:
    """The splits that a name stands for: NAME those of every data set, DATA_SET/NAME one.

    >>> clinic, other = SplitAddress("clinic", "train", "clinic/train"), SplitAddress("other", "train", "other/train")
    >>> named_splits([clinic, other], "clinic/avec-train") == [clinic], len(named_splits([clinic, other], "train"))
    (True, 2)
    """
    stored, aliases = list(stored), {"paper": "paper-test", **TRAINING_SPLITS}
    data_set, slash, name = asked.rpartition("/")
    for wanted in (asked, f"{data_set}{slash}{aliases.get(name, name)}"):
        if found := [one for one in stored if wanted in (one.name, f"{one.data_set}/{one.name}")]:
            return found
    return []


def named_split(stored: Sequence[Split], asked: str) -> Split:
    """The split that NAME or DATA_SET/NAME stands for. Raises Refused when none is stored, and for a name that splits
    of several data sets have, with what names each.
    """
    found = named_splits(stored, asked)
    if not found:
        known = [one.called for one in stored]
        raise Refused(
            f"Split '{asked}' is not stored.{did_you_mean(asked, known)} Stored splits: "
            f"{', '.join(known) or 'none yet'}. {MAKE_SPLITS}"
        )
    if len(found) > 1:
        raise Refused(
            f"Several data sets have a split '{asked}': name one of {', '.join(one.called for one in found)}."
        )
    return found[0]


def sources(stored: Iterable[NamedSplit]) -> list[SplitAddress]:
    """The stored splits that may be the source of references, called by their names as such: likely ones first.

    >>> [one.called for one in sources(SplitAddress("a", name, name) for name in ("mine", "paper-test", "train"))]
    ['avec-train', 'mine']
    """
    found = [
        SplitAddress(one.data_set, one.name, one.called.removesuffix(one.name) + training_name(one.name))
        for one in stored
        if one.name not in TEST_SPLITS
    ]
    published = list(TRAINING_SPLITS.values())

    def place(one: SplitAddress) -> tuple[int, bool, str]:
        rank = published.index(one.name) if one.name in published else len(published)
        return rank, "train" not in one.name.lower(), one.called

    return sorted(found, key=place)


def first_index(stored: Iterable[NamedSplit]) -> str:
    """How the first index is built of the stored splits, in words.

    >>> first_index([SplitAddress("clinic", "test", "test"), SplitAddress("clinic", "my-train", "my-train")])
    '`ragq index references --split my-train` builds one.'
    """
    return next(
        (f"`ragq index references --split {shlex.quote(one.called)}` builds one." for one in sources(stored)),
        MAKE_SPLITS,
    )
