"""Participants and splits: imported whole, read by the stages."""

from collections.abc import Collection, Sequence

from schemas.errors import DomainError, FailureCategory, TranscriptError
from schemas.values.participants import Participant, Person, Split
from store import rows
from store.database import Connection

# Commands name a split by its data set too where another has a split of that name.
SPLITS = """
SELECT s.*, CASE count(*) OVER (PARTITION BY s.name) WHEN 1 THEN s.name ELSE s.data_set || '/' || s.name END AS called,
       (SELECT count(*) FROM unnest(s.participant_ids) AS m (id)
        WHERE NOT EXISTS (SELECT FROM participant AS p WHERE (p.data_set, p.id) = (s.data_set, m.id)))
           AS without_transcript
FROM split AS s ORDER BY s.data_set, s.name
"""


async def stored_splits(connection: Connection) -> list[Split]:
    """Every stored split, by data set and name."""
    return [Split(**row) for row in await connection.fetch(SPLITS)]


async def splits_of(connection: Connection, data_set: str) -> dict[str, Split]:
    """The splits of a data set, by name."""
    return {split.name: split for split in await stored_splits(connection) if split.data_set == data_set}


async def known(connection: Connection, data_set: str) -> dict[int, Person]:
    """Every stored participant of a data set, by id."""
    return {one.id: one for one in await rows.find(connection, Person, "participant", order="id", data_set=data_set)}


DATA_SETS = """
SELECT data_set, count(*) FILTER (WHERE id = ANY($1::integer[])) AS people
FROM (SELECT data_set, id FROM participant UNION ALL SELECT data_set, NULL FROM split) AS stored
GROUP BY data_set ORDER BY data_set
"""

TRANSCRIPT = "SELECT transcript, transcript_hash FROM participant WHERE data_set = $1 AND id = $2"


_COLUMNS = ", ".join([*Person.model_fields, "transcript"])

PEOPLE = f"SELECT {_COLUMNS} FROM participant WHERE data_set = $1 AND id = ANY($2::integer[])"


async def keep(
    connection: Connection, data_set: str, participants: Sequence[Participant], splits: Sequence[Split]
) -> None:
    """Store participants and splits of a data set, all or nothing. What it had by the same id or name is replaced."""
    async with connection.transaction():
        for one in participants:
            key, row = {"data_set": data_set, "id": one.id}, one.model_dump(exclude={"id"})
            await rows.put(connection, "participant", key, **row, imported_at=rows.NOW)
        await keep_splits(connection, data_set, splits)


async def keep_splits(connection: Connection, data_set: str, splits: Sequence[Split]) -> None:
    """Store splits of a data set. One that it had under the same name is replaced."""
    for one in splits:
        key = {"data_set": data_set, "name": one.name}
        row = one.model_dump(include={"csv_hash", "ids_hash", "participant_ids", "made_by"})
        await rows.put(connection, "split", key, **row, imported_at=rows.NOW)


async def people(connection: Connection, data_set: str, participant_ids: Sequence[int]) -> dict[int, Participant]:
    """Participants of a data set as they are stored, by id; others are absent."""
    return {row["id"]: Participant(**row) for row in await connection.fetch(PEOPLE, data_set, list(participant_ids))}


async def data_sets(connection: Connection, participant_ids: Collection[int] = ()) -> dict[str, int]:
    """The data sets that are stored, by name, and how many of these participants each has."""
    return {row["data_set"]: row["people"] for row in await connection.fetch(DATA_SETS, list(participant_ids))}


async def texts_longer_than(connection: Connection, hashes: Sequence[str], most_bytes: int) -> dict[str, str]:
    """The transcripts of these hashes that have more bytes, by hash."""
    longer = await connection.fetch(
        "SELECT transcript_hash, transcript FROM participant "
        "WHERE transcript_hash = ANY($1::text[]) AND octet_length(transcript) > $2",
        list(hashes),
        most_bytes,
    )
    return dict(longer)


async def transcript(connection: Connection, data_set: str, participant_id: int, *, expected_hash: str) -> str:
    """A transcript, if the run was submitted with it. Raises TranscriptError without one, DomainError for another."""
    row = await connection.fetchrow(TRANSCRIPT, data_set, participant_id)
    if row is None:
        raise TranscriptError(
            f"Participant {participant_id} is no longer stored; import the participants again.",
            FailureCategory.TRANSCRIPT_NOT_FOUND,
        )
    if row["transcript_hash"] != expected_hash:
        raise DomainError(
            f"The transcript of participant {participant_id} was replaced by another import since the run was "
            "submitted; submit again to run on the new one.",
            FailureCategory.INPUT_CHANGED,
        )
    transcript: str = row["transcript"]
    return transcript
