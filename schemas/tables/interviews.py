"""Participants, their transcripts and labels, and the splits; each belongs to a data set, by its name."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, ForeignKeyConstraint, Integer, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from schemas.tables.columns import json_column, now_column, text_column, variant_column


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
