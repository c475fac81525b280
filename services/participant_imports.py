"""Participants, labels and splits imported into a data set, beside what it has: nothing that is stored is lost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from schemas.errors import Refused
from schemas.values.interviews import Labels, SplitMethod, TranscriptVariant
from schemas.values.phq8 import PHQ8Item
from services.splits import described, published_splits, stored_otherwise, stored_part
from stages.participants.split_names import PAPER_FILES
from stages.participants.splits import PUBLISHED_IDS
from stages.reports.numbers_in_words import counted
from stages.texts.ids import first_lines
from store.database import Connection
from store.references import interviews
from store.references.interviews import NewParticipant, NewSplit
from store.references.splits import splits_of, stored_labels

#: Fields that an import may add to what is stored, and may not change, with their names.
_LABELS: Final = {"gender": "gender", "phq8_binary": "PHQ8_Binary", "phq8_score": "PHQ8_Score"}

#: Items that are named one by one; more are counted.
_NAMED_ITEMS: Final = 2

LONGEST_NAME: Final = 100
"""Characters of the name of a data set."""


REMEDIES: Final = (
    "--replace puts what is imported in the place of what is stored; --name NAME imports another study beside this "
    "one; --no-splits leaves the splits as they are."
)


class Changes(NamedTuple):
    """What an import does to what its data set has: participants by number, with the names of what changes."""

    new: tuple[int, ...] = ()
    unchanged: tuple[int, ...] = ()
    changed: Mapping[int, tuple[str, ...]] = {}
    """The import adds these to what is stored, such as labels that were not known."""
    conflicting: Mapping[int, tuple[str, ...]] = {}
    """These are stored otherwise: they are refused, or replaced."""
    unknown: tuple[int, ...] = ()
    """The import has labels of them, and nobody has their transcripts: left out."""
    new_splits: tuple[str, ...] = ()
    unchanged_splits: tuple[str, ...] = ()
    conflicting_splits: Mapping[str, str] = {}
    """Stored with other participants: the stored ones in words."""

    @property
    def has_conflicts(self) -> bool:
        """Whether something that is stored would be replaced."""
        return bool(self.conflicting or self.conflicting_splits)


class ImportedParticipants(NamedTuple):
    """What an import did, or would do."""

    data_set: str
    changes: Changes
    elsewhere: Mapping[str, int] = {}
    """Other data sets that have transcripts of this import, and how many."""
    made: tuple[NewSplit, ...] = ()
    """The paper's splits, made because the import has no files of them."""
    missing: tuple[int, ...] = ()
    """Published participants that are not stored with item labels; nothing is made then."""
    others: tuple[str, ...] = ()
    """Paper splits that are stored with other participants, and were left as they are."""


async def import_participants(
    connection: Connection,
    data_set: str,
    people: Sequence[NewParticipant],
    splits: Sequence[NewSplit],
    *,
    labels: Iterable[Labels] = (),
    paper_splits: bool,
    replace_stored: bool = False,
    dry_run: bool = False,
) -> ImportedParticipants:
    """Add participants and splits to a data set, all or nothing. `labels` are those of people without a transcript in
    the import, who may have one that is stored.

    What is stored and not in the import stays, labels included. Raises Refused, with everything that is stored
    otherwise, unless it may be replaced; a dry run stores nothing and raises nothing.

    With `paper_splits`, and without a paper split among the splits, the paper's are made when every participant of them
    is stored with item labels, and none of them is stored with other participants.
    """
    _refuse_name(data_set)
    labels = list(labels)
    async with connection.transaction():
        await interviews.lock(connection, data_set)
        numbers = [*(person.id for person in people), *(label.participant_id for label in labels)]
        stored = await interviews.people(connection, data_set, numbers)
        of_labels = [_with(stored[one.participant_id], one) for one in labels if one.participant_id in stored]
        merged, changes = _merged([*people, *of_labels], stored)
        before = await splits_of(connection, data_set)
        others = {split.name: described(split) for split in stored_otherwise(splits, before)}
        changes = changes._replace(
            unknown=tuple(sorted(one.participant_id for one in labels if one.participant_id not in stored)),
            new_splits=tuple(split.name for split in splits if split.name not in before),
            unchanged_splits=tuple(s.name for s in splits if s.name in before and s.name not in others),
            conflicting_splits=others,
        )
        elsewhere = await interviews.elsewhere(connection, data_set, [person.transcript_hash for person in people])
        imported = ImportedParticipants(data_set, changes, elsewhere)
        if dry_run:
            return imported
        if changes.has_conflicts and not replace_stored:
            raise Refused(_refusal(data_set, changes))
        await interviews.keep(connection, data_set, merged, splits)
        if not paper_splits or any(split.name in PAPER_FILES for split in splits):
            return imported
        known = await stored_labels(connection, data_set)
        if missing := tuple(one for one in PUBLISHED_IDS if one not in known or known[one].items is None):
            return imported._replace(missing=missing)
        new = [stored_part(split, method=SplitMethod.PUBLISHED) for split in published_splits()]
        if unlike := stored_otherwise(new, before):
            return imported._replace(others=tuple(split.name for split in unlike))
        await interviews.keep_splits(connection, data_set, new)
    return imported._replace(made=tuple(new))


def _refuse_name(data_set: str) -> None:
    if not data_set.strip() or len(data_set) > LONGEST_NAME or "/" in data_set or not data_set.isprintable():
        raise Refused(
            f"A data set has a name of 1 to {LONGEST_NAME} letters, digits, spaces and signs, without a slash: "
            "name it with --name."
        )


def _with(person: NewParticipant, labels: Labels) -> NewParticipant:
    return replace(
        person,
        gender=labels.gender,
        phq8_binary=None if labels.phq8_binary is None else int(labels.phq8_binary),
        phq8_score=labels.phq8_score,
        items=labels.items,
    )


def _merged(
    people: Iterable[NewParticipant], stored: Mapping[int, NewParticipant]
) -> tuple[list[NewParticipant], Changes]:
    """What is to be stored of people who are new or change, and what the import does to each."""
    new, unchanged, kept = [], [], []
    changed, conflicting = {}, {}
    for person in people:
        before = stored.get(person.id)
        if before is None:
            new.append(person.id)
            kept.append(person)
            continue
        merged, added, replaced = _merge(before, person)
        if added or replaced:
            kept.append(merged)
        if replaced:
            conflicting[person.id] = replaced
        elif added:
            changed[person.id] = added
        else:
            unchanged.append(person.id)
    return kept, Changes(tuple(new), tuple(unchanged), changed, conflicting)


def _merge(before: NewParticipant, new: NewParticipant) -> tuple[NewParticipant, tuple[str, ...], tuple[str, ...]]:
    """A participant after the import, what it adds, and what it replaces. What the import does not know stays."""
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
        others = [item.evidence_key for item in PHQ8Item if before.items[item] != new.items[item]]
        replaced += others if len(others) <= _NAMED_ITEMS else [f"{len(others)} item labels"]
    elif new.items is not None:
        added.append("item labels")
    elif before.items is not None and values["phq8_score"] not in (None, sum(before.items.values())):
        # Item labels of another total than that of the import cannot stay beside it.
        items = None
        replaced.append("item labels")
    same_words = (before.transcript_hash, list(before.utterances)) == (new.transcript_hash, list(new.utterances))
    knows_less = same_words and new.variant is TranscriptVariant.UNKNOWN
    if not same_words:
        replaced.append("transcript")
    elif not knows_less and new.variant is not before.variant:
        is_known = before.variant is not TranscriptVariant.UNKNOWN
        (replaced if is_known else added).append("transcript variant")
    variant = before.variant if knows_less else new.variant
    return replace(new, **values, items=items, variant=variant), tuple(added), tuple(replaced)


def _refusal(data_set: str, changes: Changes) -> str:
    found = [f"{split} has other participants in this import" for split in changes.conflicting_splits.values()]
    found += [f"participant {number}: {', '.join(names)}" for number, names in changes.conflicting.items()]
    counts = {"split": len(changes.conflicting_splits), "participant": len(changes.conflicting)}
    stored = " and ".join(counted(count, noun) for noun, count in counts.items() if count)
    return "\n".join(
        [
            f"Data set '{data_set}' has {stored} stored otherwise; nothing was imported:",
            first_lines(found),
            REMEDIES,
        ]
    )
