"""Participants and splits: imported whole, read by the stages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from schemas.errors import InputChangedError, TranscriptNotFoundError
from schemas.values.interviews import RowIrregularity
from schemas.values.phq8 import PHQ8Item
from schemas.values.stored_splits import SplitMethod, SplitOrigin
from schemas.values.transcript_variants import TranscriptVariant
from store.database import Connection

KEEP_PARTICIPANTS = """
INSERT INTO participant
    (id, transcript, transcript_hash, utterances, gender, phq8_binary, phq8_score, items, variant, irregular_rows)
SELECT * FROM unnest($1::integer[], $2::text[], $3::text[], $4::jsonb[], $5::integer[], $6::integer[], $7::integer[],
                     $8::jsonb[], $9::text[], $10::jsonb[])
ON CONFLICT (id) DO UPDATE
SET transcript = excluded.transcript, transcript_hash = excluded.transcript_hash, utterances = excluded.utterances,
    gender = excluded.gender, phq8_binary = excluded.phq8_binary, phq8_score = excluded.phq8_score,
    items = excluded.items, variant = excluded.variant, irregular_rows = excluded.irregular_rows, imported_at = now()
"""

KEEP_SPLIT = """
INSERT INTO split (name, csv_hash, ids_hash, origin) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE
SET csv_hash = excluded.csv_hash, ids_hash = excluded.ids_hash, origin = excluded.origin, imported_at = now()
"""

KEEP_MEMBERS = """
INSERT INTO split_member (split, ordinal, participant_id)
SELECT $1, m.ordinal - 1, m.participant_id FROM unnest($2::integer[]) WITH ORDINALITY AS m (participant_id, ordinal)
"""

MEMBERS = """
SELECT m.participant_id, p.transcript_hash, p.variant, p.items
FROM split_member AS m LEFT JOIN participant AS p ON p.id = m.participant_id
WHERE m.split = $1 ORDER BY m.ordinal
"""


SIZES = """
SELECT s.name, count(m.participant_id) AS participants,
       count(m.participant_id) FILTER (WHERE p.id IS NULL) AS without_transcript
FROM split AS s LEFT JOIN split_member AS m ON m.split = s.name LEFT JOIN participant AS p ON p.id = m.participant_id
GROUP BY s.name ORDER BY s.name
"""
_FROM_ITS_FILE = SplitOrigin(method=SplitMethod.FILE)


@dataclass(frozen=True, kw_only=True)
class NewParticipant:
    """A participant to store."""

    id: int
    transcript: str
    transcript_hash: str
    utterances: Sequence[Mapping[str, Any]]
    gender: int | None
    phq8_binary: int | None
    phq8_score: int | None
    items: Mapping[PHQ8Item, int] | None
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN
    irregular_rows: Mapping[RowIrregularity, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NewSplit:
    """A split to store: participants in the order of its file."""

    name: str
    csv_hash: str
    ids_hash: str
    participant_ids: Sequence[int]
    origin: SplitOrigin = _FROM_ITS_FILE


class Member(NamedTuple):
    """A participant of a split."""

    participant_id: int
    transcript_hash: str | None
    """None when the split names a participant whose transcript was not imported."""
    variant: TranscriptVariant
    items: dict[PHQ8Item, int] | None


class TranscriptIdentity(NamedTuple):
    """What identifies a transcript without its text."""

    hash: str
    variant: TranscriptVariant


class StoredTranscript(NamedTuple):
    """A transcript as it was imported."""

    text: str
    utterances: list[dict[str, Any]]


class SplitHashes(NamedTuple):
    """What identifies a split: its file, and its participants whatever their order."""

    csv_hash: str
    ids_hash: str


class SplitSize(NamedTuple):
    """How many participants a split has."""

    name: str
    participants: int
    without_transcript: int
    """Participants whose transcript was not imported."""


async def keep(connection: Connection, participants: Sequence[NewParticipant], splits: Sequence[NewSplit]) -> None:
    """Store participants and splits, all or nothing. What was there under the same id or name is replaced."""
    async with connection.transaction():
        await connection.execute(
            KEEP_PARTICIPANTS,
            [person.id for person in participants],
            [person.transcript for person in participants],
            [person.transcript_hash for person in participants],
            [json.dumps(list(person.utterances)) for person in participants],
            [person.gender for person in participants],
            [person.phq8_binary for person in participants],
            [person.phq8_score for person in participants],
            [_items_json(person.items) for person in participants],
            [person.variant for person in participants],
            [json.dumps(person.irregular_rows) for person in participants],
        )
        await keep_splits(connection, splits)


async def keep_splits(connection: Connection, splits: Sequence[NewSplit]) -> None:
    """Store splits, all or nothing. One that was there under the same name is replaced."""
    async with connection.transaction():
        for split in splits:
            origin = json.dumps(asdict(split.origin))
            await connection.execute(KEEP_SPLIT, split.name, split.csv_hash, split.ids_hash, origin)
            await connection.execute("DELETE FROM split_member WHERE split = $1", split.name)
            await connection.execute(KEEP_MEMBERS, split.name, list(split.participant_ids))


async def split_names(connection: Connection) -> list[str]:
    """The splits that were imported, by name."""
    return [row["name"] for row in await connection.fetch("SELECT name FROM split ORDER BY name")]


async def split_sizes(connection: Connection) -> list[SplitSize]:
    """The splits that were imported, by name, with their sizes."""
    return [SplitSize(**dict(row)) for row in await connection.fetch(SIZES)]


async def split_hashes(connection: Connection, name: str) -> SplitHashes | None:
    """What identifies a split; None when it was not imported."""
    row = await connection.fetchrow("SELECT csv_hash, ids_hash FROM split WHERE name = $1", name)
    return None if row is None else SplitHashes(*row)


async def members(connection: Connection, split: str) -> list[Member]:
    """The participants of a split in the order of its file; none when the split is unknown."""
    return [
        Member(
            row["participant_id"],
            row["transcript_hash"],
            TranscriptVariant(row["variant"] or TranscriptVariant.UNKNOWN),
            _items(row["items"]),
        )
        for row in await connection.fetch(MEMBERS, split)
    ]


async def transcripts(connection: Connection, participant_ids: Sequence[int]) -> dict[int, TranscriptIdentity]:
    """What identifies the transcripts that were imported; others are absent."""
    rows = await connection.fetch(
        "SELECT id, transcript_hash, variant FROM participant WHERE id = ANY($1::integer[])", list(participant_ids)
    )
    return {row["id"]: TranscriptIdentity(row["transcript_hash"], TranscriptVariant(row["variant"])) for row in rows}


async def participant_ids(connection: Connection) -> list[int]:
    """The numbers of all participants that are stored, in their order."""
    return [row["id"] for row in await connection.fetch("SELECT id FROM participant ORDER BY id")]


async def variants(connection: Connection) -> dict[TranscriptVariant, int]:
    """How many of the stored transcripts have each variant."""
    rows = await connection.fetch(
        "SELECT variant, count(*) AS people FROM participant GROUP BY variant ORDER BY variant"
    )
    return {TranscriptVariant(row["variant"]): row["people"] for row in rows}


async def transcript(connection: Connection, participant_id: int, *, expected_hash: str) -> StoredTranscript:
    """A transcript, if it is still the one the run was submitted with.

    Raises TranscriptNotFoundError when there is none any more, and InputChangedError when it is another.
    """
    row = await connection.fetchrow(
        "SELECT transcript, transcript_hash, utterances FROM participant WHERE id = $1", participant_id
    )
    if row is None:
        raise TranscriptNotFoundError(
            f"Participant {participant_id} is no longer stored; import the participants again."
        )
    if row["transcript_hash"] != expected_hash:
        raise InputChangedError(
            f"The transcript of participant {participant_id} was replaced by another import since the run was "
            "submitted; submit again to run on the new one."
        )
    return StoredTranscript(row["transcript"], row["utterances"])


def _items_json(items: Mapping[PHQ8Item, int] | None) -> str | None:
    return None if items is None else json.dumps({item.evidence_key: score for item, score in items.items()})


def _items(stored: dict[str, int] | None) -> dict[PHQ8Item, int] | None:
    if stored is None:
        return None
    return {PHQ8Item.from_evidence_key(key): score for key, score in stored.items()}
