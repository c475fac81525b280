"""Checks stored splits: who is in them, whether they overlap, and whether they are the paper's."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from schemas.values.interviews import SplitMethod, SplitProblem, StoredLabels, StoredSplit
from stages.participants.daic_woz import DEPRESSED_FROM
from stages.participants.split_names import PAPER_FILES, TRAIN_AND_DEV
from stages.participants.splits import PUBLISHED_SPLITS, ids_hash, participants_in_words
from stages.participants.transcripts import import_command

_DISJOINT = (tuple(PAPER_FILES), ("train", "dev"))
"""Splits of one group share no participant."""
_LABELLED = (*PAPER_FILES, "train", "dev", TRAIN_AND_DEV)
"""Splits whose participants have item labels."""


def split_problems(splits: Sequence[StoredSplit], people: Mapping[int, StoredLabels]) -> tuple[SplitProblem, ...]:
    """What is wrong with the splits of a data set. `people` are its participants, who all have a transcript, by id."""
    called = {split.name: split.called for split in splits}
    return (
        *(problem for split in splits for problem in _of_one(split, people)),
        *(
            problem.model_copy(update={"split": called[problem.split]})
            for problem in overlaps({split.name: split.participant_ids for split in splits})
        ),
    )


def overlaps(splits: Mapping[str, Sequence[int]]) -> Iterator[SplitProblem]:
    """Participants in two splits that exclude each other."""
    for group in _DISJOINT:
        for name, other in combinations([name for name in group if name in splits], 2):
            if both := set(splits[name]) & set(splits[other]):
                yield SplitProblem(
                    split=name,
                    found=f"{participants_in_words(both)} also in {other}",
                    what_to_do="keep each in one of them",
                )


def _of_one(split: StoredSplit, people: Mapping[int, StoredLabels]) -> Iterator[SplitProblem]:
    ids = split.participant_ids
    labels = {number: people[number] for number in ids if number in people}
    if not ids:
        yield _problem(split, "has no participants", "import or make it again")
    if ids_hash(ids) != split.ids_hash:
        yield _problem(split, "its participants are not those of its hash", "import or make it again")
    if unknown := set(ids) - people.keys():
        found = f"{participants_in_words(unknown)} not stored (no transcript)"
        yield _problem(split, found, f"`{import_command(split.data_set)}` imports them")
    if split.name in _LABELLED and (bare := {number for number, found in labels.items() if found.items is None}):
        yield _problem(
            split,
            f"{participants_in_words(bare)} without item labels, in no metric",
            f"`{import_command(split.data_set)}` imports them",
        )
    if wrong := {number for number, found in labels.items() if not _adds_up(found)}:
        yield _problem(
            split,
            f"{participants_in_words(wrong)} with labels that do not add up",
            "correct the label files and import them with --replace",
        )
    if published := _unlike_published(split):
        remedy = "`ragq splits make --paper --replace` makes the paper's, `--from FILE` declares another"
        yield _problem(split, published, remedy)


def _adds_up(labels: StoredLabels) -> bool:
    total = labels.phq8_score
    if labels.items is not None and total is not None and sum(labels.items.values()) != total:
        return False
    return labels.phq8_binary is None or total is None or bool(labels.phq8_binary) is (total >= DEPRESSED_FROM)


def _unlike_published(split: StoredSplit) -> str | None:
    part = split.name.removeprefix("paper-")
    is_other = split.origin is not None and split.origin.method in (SplitMethod.STRATIFIED, SplitMethod.LISTED)
    if split.name not in PAPER_FILES or is_other:
        return None
    published = set(PUBLISHED_SPLITS[part]) - set(split.origin.missing if split.origin else ())
    differences = {
        "lacks published": published - set(split.participant_ids),
        "has unpublished": set(split.participant_ids) - published,
    }
    return "; ".join(f"{what} {participants_in_words(ids)}" for what, ids in differences.items() if ids) or None


def _problem(split: StoredSplit, found: str, what_to_do: str) -> SplitProblem:
    return SplitProblem(split=split.called, found=found, what_to_do=what_to_do)
