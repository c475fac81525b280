"""Splits that are made from what is stored, not imported: the paper's, a new draw by its rule, or a list of ids."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from schemas.errors import Refused
from schemas.values.interviews import Split
from schemas.values.stored_splits import SplitMethod, SplitOrigin, StoredSplit
from stages.participants.published_splits import PUBLISHED_IDS, PUBLISHED_SPLITS
from stages.participants.split_checks import overlaps
from stages.participants.split_names import PAPER_FILES, TRAIN_AND_DEV
from stages.participants.split_origins import origin_words
from stages.participants.split_rule import Labelled, stratified_split
from stages.participants.splits import ids_hash, listed_split
from store.database import Connection
from store.references import interviews
from store.references.interviews import NewParticipant, NewSplit
from store.references.splits import stored_splits
from store.references.stored_labels import stored_labels


class MadeSplits(NamedTuple):
    """Splits that were stored."""

    splits: tuple[NewSplit, ...]
    replaced: tuple[str, ...]
    """Names of splits that were stored with other participants before."""


class ImportedSplits(NamedTuple):
    """What an import of participants did to the splits."""

    replaced: tuple[str, ...] = ()
    """Splits of the import that were stored with other participants before, and how they had been made."""
    made: tuple[NewSplit, ...] = ()
    """The paper's splits, made because the import has no files of them."""
    missing: tuple[int, ...] = ()
    """Published participants that are not stored with item labels; nothing is made then."""
    others: tuple[str, ...] = ()
    """Paper splits that are stored with other participants, and were left as they are."""


def published_splits() -> tuple[Split, ...]:
    """The paper's three splits."""
    return tuple(listed_split(f"paper-{part}", ids) for part, ids in PUBLISHED_SPLITS.items())


async def drawn_splits(connection: Connection, *, seed: int) -> tuple[Split, ...]:
    """New paper splits by the paper's rule, from the participants of train and dev; without those, from all labelled.

    Raises Refused when there are too few.
    """
    people, stored = await stored_labels(connection), await stored_splits(connection)
    pool = stored[TRAIN_AND_DEV].participant_ids if TRAIN_AND_DEV in stored else tuple(people)
    labelled = [
        Labelled(number, sum(items.values()), people[number].gender)
        for number in pool
        if number in people and (items := people[number].items) is not None
    ]
    parts = stratified_split(labelled, seed=seed)
    return tuple(listed_split(f"paper-{part}", ids) for part, ids in parts.items())


async def make_splits(
    connection: Connection,
    splits: Sequence[Split],
    method: SplitMethod,
    *,
    seed: int | None = None,
    file: str | None = None,
    allow_missing: bool = False,
    replace: bool = False,
) -> MadeSplits:
    """Store splits, all or none, with how they were made.

    Raises Refused for participants that are not stored, unless they may be left out; for splits that overlap and may
    not; and for splits that are stored with other participants, unless they may be replaced.
    """
    async with connection.transaction():
        people, stored = await stored_labels(connection), await stored_splits(connection)
        missing = sorted({number for split in splits for number in split.participant_ids} - people.keys())
        if missing and not allow_missing:
            raise Refused(_not_stored(missing, splits))
        new = [_stored_part(split, set(missing), method, seed, file) for split in splits]
        before = {name: split.participant_ids for name, split in stored.items()}
        after = before | {split.name: tuple(split.participant_ids) for split in new}
        if problems := set(overlaps(after)) - set(overlaps(before)):
            lines = "\n".join(f"  {problem}" for problem in sorted(map(str, problems)))
            raise Refused(f"The splits cannot be stored:\n{lines}")
        others = _stored_otherwise(new, stored)
        if others and not replace:
            raise Refused(
                f"{', '.join(_described(split) for split in others)} would be replaced. Name --replace to do so; an "
                "index that was built on other participants is then to be built again (`ragq index references`)."
            )
        await interviews.keep_splits(connection, new)
    return MadeSplits(tuple(new), tuple(split.name for split in others))


async def import_participants(
    connection: Connection, people: Sequence[NewParticipant], splits: Sequence[NewSplit], *, paper_splits: bool
) -> ImportedSplits:
    """Store participants and splits, all or nothing.

    With `paper_splits`, and without a paper split among the splits, the paper's are made when every participant of them
    is stored with item labels, and none of them is stored with other participants.
    """
    async with connection.transaction():
        stored = await stored_splits(connection)
        replaced = tuple(_described(split) for split in _stored_otherwise(splits, stored))
        await interviews.keep(connection, people, splits)
        if not paper_splits or any(split.name in PAPER_FILES for split in splits):
            return ImportedSplits(replaced)
        labels = await stored_labels(connection)
        missing = tuple(number for number in PUBLISHED_IDS if number not in labels or labels[number].items is None)
        if missing:
            return ImportedSplits(replaced, missing=missing)
        new = [_stored_part(split, set(), SplitMethod.PUBLISHED, None, None) for split in published_splits()]
        if others := _stored_otherwise(new, stored):
            return ImportedSplits(replaced, others=tuple(split.name for split in others))
        await interviews.keep_splits(connection, new)
    return ImportedSplits(replaced, tuple(new))


def _stored_part(split: Split, missing: set[int], method: SplitMethod, seed: int | None, file: str | None) -> NewSplit:
    kept = [number for number in split.participant_ids if number not in missing]
    if not kept:
        raise Refused(f"No participant of {split.name} is stored. `ragq import participants DIR` imports them.")
    left_out = tuple(sorted(missing.intersection(split.participant_ids)))
    return NewSplit(
        name=split.name,
        csv_hash=split.csv_hash,
        ids_hash=ids_hash(kept),
        participant_ids=kept,
        origin=SplitOrigin(method=method, seed=seed, file=file, missing=left_out),
    )


def _stored_otherwise(new: Sequence[NewSplit], stored: Mapping[str, StoredSplit]) -> list[StoredSplit]:
    return [
        stored[split.name] for split in new if split.name in stored and stored[split.name].ids_hash != split.ids_hash
    ]


def _described(split: StoredSplit) -> str:
    return f"split {split.name} ({len(split.participant_ids)} other participants, {origin_words(split.origin)})"


def _not_stored(missing: Sequence[int], splits: Sequence[Split]) -> str:
    count = len({number for split in splits for number in split.participant_ids})
    return (
        f"{len(missing)} of {count} participants are not stored: {', '.join(map(str, missing))}. "
        "`ragq import participants DIR` imports them; --allow-missing makes the splits without them, and records that."
    )
