"""Splits that are made from what is stored, not imported: the paper's, a new draw by its rule, or a list of ids."""

import shlex
from collections.abc import Collection, Mapping, Sequence

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.participants import Split, SplitMethod, SplitOrigin, StoredSplit
from stages.participants.splits import (
    PUBLISHED_SPLITS,
    TRAIN_AND_DEV,
    listed_split,
    named_split,
    origin_words,
    overlaps,
    stratified_split,
)
from stages.participants.transcripts import import_command
from store.database import Connection
from store.references import interviews
from store.references.interviews import splits_of


def published_splits() -> tuple[Split, ...]:
    """The paper's three splits."""
    origin = SplitOrigin(method=SplitMethod.PUBLISHED)
    return tuple(listed_split(f"paper-{part}", ids, origin) for part, ids in PUBLISHED_SPLITS.items())


async def find_split(connection: Connection, asked: str, *, data_set: str | None = None) -> StoredSplit:
    """The split that NAME or DATA_SET/NAME stands for, of one data set where it is given.

    Raises Refused when none is stored, and for a name that splits of several data sets have, with what names each.
    """
    stored = await interviews.stored_splits(connection)
    if data_set is not None:
        _refuse_unknown_data_set(await interviews.data_sets(connection), data_set)
        stored = [one for one in stored if one.data_set == data_set]
    return named_split(stored, asked)


async def find_data_set(connection: Connection, data_set: str | None, *, numbers: Collection[int] = ()) -> str:
    """The data set of a name; without one the only stored one, or the one that has most of these participants.

    Raises Refused for an unknown name, when nothing is stored, and when several data sets could be meant.
    """
    stored = await interviews.data_sets(connection, numbers)
    if data_set is not None:
        _refuse_unknown_data_set(stored, data_set)
        return data_set
    most = max(stored.values(), default=0)
    meant = [name for name, people in stored.items() if people == most]
    if not meant:
        raise Refused("No participant is stored. `ragq import participants DIR` imports those of a data set.")
    if len(meant) > 1:
        who = "these participants" if numbers else "participants"
        choices = " or ".join(f"`--data-set {shlex.quote(name)}`" for name in meant)
        raise Refused(f"Several data sets have {who}: name one with {choices}.")
    return meant[0]


def _refuse_unknown_data_set(stored: Collection[str], data_set: str) -> None:
    if data_set not in stored:
        raise Refused(
            f"Data set '{data_set}' is not stored.{did_you_mean(data_set, stored)} Stored: "
            f"{', '.join(stored) or 'none yet'}."
        )


async def drawn_splits(connection: Connection, data_set: str, *, seed: int) -> tuple[Split, ...]:
    """New paper splits by the paper's rule, from the participants of train and dev; without those, from all labelled.

    Raises Refused when there are too few.
    """
    people, stored = await interviews.known(connection, data_set), await splits_of(connection, data_set)
    pool = stored[TRAIN_AND_DEV].participant_ids if TRAIN_AND_DEV in stored else tuple(people)
    labelled = [
        people[number].model_copy(update={"phq8_score": sum(items.values())})
        for number in pool
        if number in people and (items := people[number].items) is not None
    ]
    parts = stratified_split(labelled, seed=seed)
    origin = SplitOrigin(method=SplitMethod.STRATIFIED, seed=seed)
    return tuple(listed_split(f"paper-{part}", ids, origin) for part, ids in parts.items())


async def make_splits(
    connection: Connection, data_set: str, splits: Sequence[Split], *, replace_stored: bool = False
) -> list[str]:
    """Store splits of a data set, all or none. The names of those that were stored with other participants before.

    Raises Refused for participants that are not stored, for splits that overlap and may not, and for splits that are
    stored with other participants, unless they may be replaced.
    """
    async with connection.transaction():
        people, stored = await interviews.known(connection, data_set), await splits_of(connection, data_set)
        members = {number for split in splits for number in split.participant_ids}
        if missing := sorted(members - people.keys()):
            raise Refused(
                f"{len(missing)} of {len(members)} participants are not stored: {', '.join(map(str, missing))}. "
                f"`{import_command(data_set)}` imports them; `--from FILE` makes splits of those that a file lists."
            )
        before = {name: split.participant_ids for name, split in stored.items()}
        after = before | {split.name: tuple(split.participant_ids) for split in splits}
        if problems := set(overlaps(after)) - set(overlaps(before)):
            lines = "\n".join(f"  {problem}" for problem in sorted(map(str, problems)))
            raise Refused(f"The splits cannot be stored:\n{lines}")
        others = stored_otherwise(splits, stored)
        if others and not replace_stored:
            raise Refused(
                f"{', '.join(described(split) for split in others)} would be replaced. Name --replace to do so; an "
                "index that was built on other participants is then to be built again (`ragq index references`)."
            )
        await interviews.keep_splits(connection, data_set, splits)
    return [split.name for split in others]


def stored_otherwise(new: Sequence[Split], stored: Mapping[str, StoredSplit]) -> list[StoredSplit]:
    """Those of the stored splits, by name, that have other participants than the new ones of their names."""
    return [
        stored[split.name] for split in new if split.name in stored and stored[split.name].ids_hash != split.ids_hash
    ]


def described(split: StoredSplit) -> str:
    """A stored split that others take the place of, in words."""
    return f"split {split.name} ({len(split.participant_ids)} other participants, {origin_words(split.origin)})"
