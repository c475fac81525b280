"""Data sets: participants and splits imported, and splits made of what is stored: the paper's, a draw, or a list."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.base import Value
from schemas.values.participants import DataSet, Participant, Person, PHQ8Item, Split, TranscriptVariant
from stages.participants.splits import (
    PUBLISHED,
    PUBLISHED_SPLITS,
    TRAIN_AND_DEV,
    listed_split,
    named_split,
    overlaps,
    stratified_split,
)
from stages.participants.transcripts import import_command
from stages.reports.words import counted
from stages.texts.characters import first_lines
from store.database import Connection, Lock, hold
from store.references import interviews
from store.references.interviews import splits_of

#: Fields that an import may add to what is stored, and may not change, with their names.
_LABELS: Final = {"gender": "gender", "phq8_binary": "PHQ8_Binary", "phq8_score": "PHQ8_Score"}

LONGEST_NAME: Final = 100
"""Characters of the name of a data set."""


class ImportedParticipants(Value):
    """What an import did: participants by number, with the names of what changes."""

    data_set: str
    participants: int
    """Those in the import."""
    labelled: int
    """Those of them with item labels."""
    variants: dict[TranscriptVariant, int]
    splits: dict[str, int]
    """The participants of each that was imported."""
    new: tuple[int, ...]
    unchanged: tuple[int, ...]
    changed: dict[int, tuple[str, ...]]
    """The import adds these to what is stored, such as labels that were not known."""
    conflicting: dict[int, tuple[str, ...]]
    """These were stored otherwise, and were replaced."""
    unknown: tuple[int, ...]
    """The import has labels of them, and nobody has their transcripts: left out."""
    conflicting_splits: dict[str, str]
    """Those that were stored with other participants, in words."""
    patched_items: dict[int, PHQ8Item]


async def import_participants(
    connection: Connection, name: str, data_set: DataSet, *, with_splits: bool = True, replace_stored: bool = False
) -> ImportedParticipants:
    """Add participants and splits to the data set of a name, all or nothing; what is stored and not in the import
    stays, labels included. Raises Refused, with everything that is stored otherwise, unless it may be replaced."""
    _refuse_name(name)
    people, labels = data_set.participants, data_set.labels
    splits = [*data_set.splits.values()] if with_splits else []
    async with connection.transaction():
        await hold(connection, Lock.DATA_SET, name)
        stored = await interviews.people(connection, name, [*people, *labels])
        of_labels = [
            stored[number].model_copy(update={name: getattr(one, name) for name in (*_LABELS, "items")})
            for number, one in labels.items()
            if number in stored
        ]
        merges = [_merge(stored[one.id], one) for one in (*people.values(), *of_labels) if one.id in stored]
        before = await splits_of(connection, name)
        others = {split.name: described(split) for split in stored_otherwise(splits, before)}
        imported = ImportedParticipants(
            data_set=name,
            participants=len(people),
            labelled=sum(one.items is not None for one in people.values()),
            variants=Counter(one.variant for one in people.values()),
            splits={split.name: len(split.participant_ids) for split in splits},
            new=tuple(one for one in people if one not in stored),
            unchanged=tuple(one.id for one, added, replaced in merges if not (added or replaced)),
            changed={one.id: added for one, added, replaced in merges if added and not replaced},
            conflicting={one.id: replaced for one, _, replaced in merges if replaced},
            unknown=tuple(sorted(one for one in labels if one not in stored)),
            conflicting_splits=others,
            patched_items=data_set.patched,
        )
        if (imported.conflicting or others) and not replace_stored:
            raise Refused(_refusal(imported))
        kept = [people[one] for one in imported.new]
        kept += [one for one, added, replaced in merges if added or replaced]
        await interviews.keep(connection, name, kept, splits)
        return imported


def _refuse_name(data_set: str) -> None:
    if not data_set.strip() or len(data_set) > LONGEST_NAME or "/" in data_set or not data_set.isprintable():
        raise Refused(
            f"A data set has a name of 1 to {LONGEST_NAME} letters, digits, spaces and signs, without a slash: "
            "name it with --name."
        )


def _merge(before: Participant, new: Participant) -> tuple[Participant, tuple[str, ...], tuple[str, ...]]:
    """A participant after the import, which keeps what the import does not know; what it adds; and what it replaces."""
    added: list[str] = []
    replaced: list[str] = []
    values: dict[str, Any] = {}
    for field, name in _LABELS.items():
        old, now = getattr(before, field), getattr(new, field)
        values[field] = old if now is None else now
        if now is not None and now != old:
            (added if old is None else replaced).append(name)
    items = before.items if new.items is None else new.items
    if before.items is not None and new.items is not None:
        replaced += [item.evidence_key for item in PHQ8Item if before.items[item] != new.items[item]]
    elif new.items is not None:
        added.append("item labels")
    elif before.items is not None and values["phq8_score"] not in (None, sum(before.items.values())):
        # Item labels of another total than that of the import cannot stay beside it.
        items = None
        replaced.append("item labels")
    same_words = before.transcript_hash == new.transcript_hash
    knows_less = same_words and new.variant is TranscriptVariant.UNKNOWN
    if not same_words:
        replaced.append("transcript")
    elif not knows_less and new.variant is not before.variant:
        is_known = before.variant is not TranscriptVariant.UNKNOWN
        (replaced if is_known else added).append("transcript variant")
    variant = before.variant if knows_less else new.variant
    merged = new.model_copy(update={**values, "items": items, "variant": variant})
    return merged, tuple(added), tuple(replaced)


def _refusal(imported: ImportedParticipants) -> str:
    splits, people = imported.conflicting_splits, imported.conflicting
    found = [f"{split} has other participants in this import" for split in splits.values()]
    found += [f"participant {number}: {', '.join(names)}" for number, names in people.items()]
    counts = {"split": len(splits), "participant": len(people)}
    stored = " and ".join(counted(count, noun) for noun, count in counts.items() if count)
    said = f"Data set '{imported.data_set}' has {stored} stored otherwise; nothing was imported:"
    return (
        f"{said}\n{first_lines(found)}\n--replace puts what is imported in the place of what is stored; --name NAME "
        "imports another study beside this one; --no-splits leaves the splits as they are."
    )


def published_splits() -> tuple[Split, ...]:
    """The paper's three splits."""
    return tuple(listed_split(f"paper-{part}", ids, PUBLISHED) for part, ids in PUBLISHED_SPLITS.items())


async def find_split(connection: Connection, asked: str, *, data_set: str | None = None) -> Split:
    """The split that NAME or DATA_SET/NAME stands for, of one data set where it is given. Raises Refused when none is
    stored, and for a name that splits of several data sets have, with what names each."""
    stored = await interviews.stored_splits(connection)
    if data_set is not None:
        _refuse_unknown_data_set(await interviews.data_sets(connection), data_set)
        stored = [one for one in stored if one.data_set == data_set]
    return named_split(stored, asked)


async def find_data_set(connection: Connection, data_set: str | None, *, numbers: Collection[int] = ()) -> str:
    """The data set of a name; without one the only stored one, or the one that has most of these participants. Raises
    Refused for an unknown name, when nothing is stored, and when several data sets could be meant."""
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


async def transcripts_of(connection: Connection, data_set: str, wanted: Sequence[int]) -> dict[int, Person]:
    """These participants, in the order asked for. Raises Refused for those whose transcript is not stored."""
    known = await interviews.known(connection, data_set)
    missing = [str(participant_id) for participant_id in wanted if participant_id not in known]
    if missing:
        raise Refused(
            f"No transcript is stored for participant {', '.join(missing)} of data set '{data_set}'."
            f"{did_you_mean(missing[0], map(str, known)) if len(missing) == 1 else ''} "
            f"`{import_command(data_set)}` imports transcripts."
        )
    return {participant_id: known[participant_id] for participant_id in wanted}


def _refuse_unknown_data_set(stored: Collection[str], data_set: str) -> None:
    if data_set not in stored:
        raise Refused(
            f"Data set '{data_set}' is not stored.{did_you_mean(data_set, stored)} Stored: "
            f"{', '.join(stored) or 'none yet'}."
        )


async def drawn_splits(connection: Connection, data_set: str, *, seed: int) -> tuple[Split, ...]:
    """New paper splits by the paper's rule, of the participants of train and dev, or without those of all labelled."""
    people, stored = await interviews.known(connection, data_set), await splits_of(connection, data_set)
    pool = stored[TRAIN_AND_DEV].participant_ids if TRAIN_AND_DEV in stored else tuple(people)
    labelled = [people[number] for number in pool if number in people and people[number].items is not None]
    made_by = f"the paper's rule, seed {seed}"
    parts = stratified_split(labelled, seed=seed)
    return tuple(listed_split(f"paper-{part}", ids, made_by) for part, ids in parts.items())


async def make_splits(
    connection: Connection, data_set: str, splits: Sequence[Split], *, replace_stored: bool = False
) -> list[str]:
    """Store splits of a data set, all or none. The names of those that were stored with other participants before,
    which is refused unless they may be replaced, as are participants that are not stored, and splits that overlap and
    may not."""
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
            lines = "\n".join(f"  {name}: {problem}" for name, problem in sorted(problems))
            raise Refused(f"The splits cannot be stored:\n{lines}")
        others = stored_otherwise(splits, stored)
        if others and not replace_stored:
            raise Refused(
                f"{', '.join(described(split) for split in others)} would be replaced. Name --replace to do so; an "
                "index that was built on other participants is then to be built again (`ragq index references --wait`)."
            )
        await interviews.keep_splits(connection, data_set, splits)
    return [split.name for split in others]


def stored_otherwise(new: Sequence[Split], stored: Mapping[str, Split]) -> list[Split]:
    """Those of the stored splits, by name, that have other participants than the new ones of their names."""
    return [
        stored[split.name] for split in new if split.name in stored and stored[split.name].ids_hash != split.ids_hash
    ]


def described(split: Split) -> str:
    """A stored split that others take the place of, in words."""
    return f"split {split.name} ({len(split.participant_ids)} other participants, {split.made_by})"
