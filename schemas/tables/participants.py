"""Participants, their transcripts and labels, and the splits; each belongs to a data set, by its name."""

from datetime import datetime
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import ARRAY, Column, ForeignKeyConstraint, Index, Integer, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from schemas.tables.columns import (
    dtypes_column,
    id_column,
    json_column,
    now_column,
    reference_column,
    text_column,
    time_column,
    variant_column,
)


class ParticipantTable(SQLModel, table=True):
    """One interviewed person: the transcript as `speaker: value` lines, and the labels where there are any."""

    __tablename__ = "participant"

    data_set: str = Field(sa_column=Column(Text, primary_key=True))
    id: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    """Its number in the data set: another data set may have the same."""
    transcript: str = Field(sa_column=text_column())
    transcript_hash: str
    """SHA-256 of the transcript."""
    utterances: list[Any] = Field(sa_column=json_column())
    """Every kept row: start and stop in seconds, speaker, value."""
    variant: str = Field(default="unknown", sa_column=variant_column())
    """How the transcript was cleaned: a TranscriptVariant."""
    irregular_rows: dict[str, Any] = Field(
        default_factory=dict, sa_column=Column(JSONB, nullable=False, server_default="{}")
    )
    """RowIrregularity -> number of rows; those without any are absent."""
    gender: int | None = None
    phq8_binary: int | None = None
    phq8_score: int | None = None
    items: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """The eight item scores by evidence key, or empty when the participant has no item labels."""
    imported_at: datetime | None = Field(default=None, sa_column=now_column())


class SplitTable(SQLModel, table=True):
    """A named set of participants of one data set."""

    __tablename__ = "split"

    data_set: str = Field(sa_column=Column(Text, primary_key=True))
    name: str = Field(sa_column=Column(Text, primary_key=True))
    csv_hash: str
    ids_hash: str
    origin: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """How it was made; None where that is not known."""
    imported_at: datetime | None = Field(default=None, sa_column=now_column())


class SplitMemberTable(SQLModel, table=True):
    """A participant's place in a split, in the order of its file."""

    __tablename__ = "split_member"
    __table_args__ = (
        ForeignKeyConstraint(["data_set", "split"], ["split.data_set", "split.name"], ondelete="CASCADE"),
    )

    data_set: str = Field(sa_column=Column(Text, primary_key=True))
    split: str = Field(sa_column=Column(Text, primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True))
    participant_id: int


class ReferenceIndexTable(SQLModel, table=True):
    """One built index. It is visible from `published_at` until a newer one of its name and identity replaces it."""

    __tablename__ = "reference_index"
    __table_args__ = (
        Index(
            "ux_reference_index_current",
            "name",
            "identity",
            unique=True,
            postgresql_where=text("published_at IS NOT NULL AND replaced_at IS NULL"),
        ),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    name: str
    identity: str
    """A hash over what makes two indexes of a name different: model, data set, split, transcript variant, chunks."""
    run_id: int | None = Field(default=None, sa_column=reference_column("run.id", cascade=False, nullable=True))
    """None for an index that was imported from files."""
    data_set: str
    """Whose participants it holds."""
    split: str
    split_csv_hash: str | None = None
    """None where the files of an imported index do not say."""
    split_ids_hash: str
    variant: str = Field(default="unknown", sa_column=variant_column())
    """Of the transcripts: a TranscriptVariant."""
    backend: str
    model: str
    model_digest: str | None = None
    model_dtypes: list[str] = Field(default_factory=list, sa_column=dtypes_column())
    """The number formats of its vectors; none is known of imported indexes."""
    dimension: int
    chunk_size: int
    chunk_step: int
    min_evidence_chars: int
    evidence: str | None = None
    """How the evidence of its participants was found; None without evidence."""
    participants: int | None = None
    chunks: int | None = None
    artifact_meta: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """The description that an imported index came with."""
    chunk_scores_meta: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """Who scored the chunks; None without chunk scores, and where their files did not say."""
    partial: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """What was left out; None for a complete index."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    published_at: datetime | None = Field(default=None, sa_column=time_column())
    replaced_at: datetime | None = Field(default=None, sa_column=time_column())


class ReferenceParticipantTable(SQLModel, table=True):
    """A participant of an index with the item scores that the index was built with."""

    __tablename__ = "reference_participant"

    index_id: int = Field(sa_column=reference_column("reference_index.id", primary_key=True))
    participant_id: int = Field(sa_column=Column(Integer, primary_key=True))
    items: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))


class ReferenceEvidenceTable(SQLModel, table=True):
    """The vector of what a participant of an index said about an item."""

    __tablename__ = "reference_evidence"

    index_id: int = Field(sa_column=reference_column("reference_index.id", primary_key=True))
    participant_id: int = Field(sa_column=Column(Integer, primary_key=True))
    item: str = Field(primary_key=True)
    """Its evidence key."""
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))


class ReferenceChunkTable(SQLModel, table=True):
    """A window of transcript lines."""

    __tablename__ = "reference_chunk"
    __table_args__ = (UniqueConstraint("index_id", "participant_id", "ordinal"),)

    id: int | None = Field(default=None, sa_column=id_column())
    index_id: int = Field(sa_column=reference_column("reference_index.id"))
    participant_id: int
    ordinal: int
    text: str = Field(sa_column=text_column())
    chunk_hash: str
    tags: list[str] | None = Field(default=None, sa_column=Column(ARRAY(Text), nullable=True))
    """Evidence keys of the items that the chunk is about; None in an index without tags."""
    scores: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """Evidence key -> 0..3 or null, by the chunk alone; None in an index without chunk scores."""


class ReferenceVectorTable(SQLModel, table=True):
    """The vector of a chunk, apart from its text, so that a scan reads vectors only."""

    __tablename__ = "reference_vector"

    chunk_id: int = Field(sa_column=reference_column("reference_chunk.id", primary_key=True))
    index_id: int = Field(sa_column=Column(Integer, nullable=False, index=True))
    participant_id: int
    ordinal: int
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))
