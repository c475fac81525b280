"""Participants, their transcripts and labels, and the splits; each belongs to a data set, by its name."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, UniqueConstraint, text
from sqlmodel import Field

from schemas.tables import columns
from schemas.values.participants import Chunk, KeyedItem, Person, TranscriptVariant
from schemas.values.runs import IndexIdentity

_CURRENT = text("published_at IS NOT NULL AND replaced_at IS NULL")


class ParticipantTable(Person, columns.Row, table=True):  # type: ignore[misc]
    """One interviewed person of a data set."""

    data_set: str = columns.text(primary_key=True)
    id: int = Field(primary_key=True)
    transcript: str = columns.text()
    variant: TranscriptVariant = columns.text("unknown")
    items: dict[KeyedItem, int] | None = columns.json()
    """The eight item scores by evidence key."""
    imported_at: datetime = columns.now()


class SplitTable(columns.Row, table=True):
    """A named set of participants of one data set."""

    data_set: str = columns.text(primary_key=True)
    name: str = columns.text(primary_key=True)
    csv_hash: str
    ids_hash: str
    participant_ids: list[int] = columns.array(Integer)
    """In the order of its file."""
    made_by: str
    imported_at: datetime = columns.now()


class ReferenceIndexTable(IndexIdentity, columns.Row, table=True):  # type: ignore[misc]
    """One built index. It is visible from `published_at` until a newer one of its name and identity replaces it."""

    __table_args__ = (Index("ux_reference_index_current", "name", "identity", unique=True, postgresql_where=_CURRENT),)

    id: int = columns.serial()
    identity: str
    """A hash over what makes two indexes of a name different: model, data set, split, transcript variant, chunks."""
    run_id: int | None = columns.reference("run.id", deleted="SET NULL")
    """None for an index that was imported from files."""
    variant: TranscriptVariant = columns.text("unknown")
    model_dtypes: list[str] = columns.array(default="{}")
    evidence: str | None
    chunk_scores_meta: dict[str, Any] | None = columns.json()
    partial: dict[str, Any] | None = columns.json()
    created_at: datetime = columns.now()
    published_at: datetime | None = columns.time()
    replaced_at: datetime | None = columns.time()


class ReferenceParticipantTable(columns.Row, table=True):
    """A participant of an index with the item scores that the index was built with."""

    index_id: int = columns.reference("reference_index.id", primary_key=True)
    participant_id: int = Field(primary_key=True)
    items: dict[str, Any] | None = columns.json()


class ReferenceEvidenceTable(columns.Row, table=True):
    """The vector of what a participant of an index said about an item."""

    index_id: int = columns.reference("reference_index.id", primary_key=True)
    participant_id: int = Field(primary_key=True)
    item: str = Field(primary_key=True)
    """Its evidence key."""
    vector: Any = columns.vector()


class ReferenceChunkTable(Chunk, columns.Row, table=True):  # type: ignore[misc]
    """A window of transcript lines."""

    __table_args__ = (UniqueConstraint("index_id", "participant_id", "ordinal"),)

    id: int = columns.serial()
    index_id: int = columns.reference("reference_index.id")
    text: str = columns.text()
    tags: tuple[KeyedItem, ...] | None = columns.array()
    scores: dict[KeyedItem, int | None] | None = columns.json()


class ReferenceVectorTable(columns.Row, table=True):
    """The vector of a chunk, apart from its text, so that a scan reads vectors only."""

    chunk_id: int = columns.reference("reference_chunk.id", primary_key=True)
    index_id: int = Field(index=True)
    participant_id: int
    ordinal: int
    vector: Any = columns.vector()
