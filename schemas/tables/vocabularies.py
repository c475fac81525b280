"""The vocabularies of tags: what was imported, and the models that were built from it."""

from datetime import datetime
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import BigInteger, Column, Index, LargeBinary, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, now_column, reference_column, time_column


class VocabularyTable(SQLModel, table=True):
    """One import. It is current until a newer one of its name replaces it; its models are built once."""

    __tablename__ = "vocabulary"
    __table_args__ = (
        Index("ux_vocabulary_current", "name", unique=True, postgresql_where=text("replaced_at IS NULL")),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    name: str
    tags: int
    aliases: int
    documents: int
    model: str | None = None
    """What kind of model places the tokens; None until there is one."""
    model_digest: str | None = None
    context_digest: str | None = None
    dimension: int | None = None
    """Numbers per token vector."""
    similarity_digest: str | None = None
    sentence_backend: str | None = None
    sentence_model: str | None = None
    """The embedder of the names of tags and aliases, and of phrases."""
    sentence_digest: str | None = None
    imported_at: datetime | None = Field(default=None, sa_column=now_column())
    indexed_at: datetime | None = Field(default=None, sa_column=time_column())
    replaced_at: datetime | None = Field(default=None, sa_column=time_column())


class TagTable(SQLModel, table=True):
    """A canonical tag."""

    __tablename__ = "tag"
    __table_args__ = (UniqueConstraint("vocabulary_id", "name"),)

    id: int | None = Field(default=None, sa_column=id_column())
    vocabulary_id: int = Field(sa_column=reference_column("vocabulary.id"))
    name: str
    category: str
    count: int | None = None
    nsfw_probability: float | None = None
    title: str | None = None
    """The name as its file writes it, where that differs."""


class TagAliasTable(SQLModel, table=True):
    """Another word for a tag. An alias may stand for several tags."""

    __tablename__ = "tag_alias"

    vocabulary_id: int = Field(sa_column=reference_column("vocabulary.id", primary_key=True))
    alias: str = Field(sa_column=Column(Text, primary_key=True))
    tag: str = Field(sa_column=Column(Text, primary_key=True))


class TagDocumentTable(SQLModel, table=True):
    """Tags that occur together, which the models learn from."""

    __tablename__ = "tag_document"

    vocabulary_id: int = Field(sa_column=reference_column("vocabulary.id", primary_key=True))
    ordinal: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    tags: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    weight: int


class TagVectorTable(SQLModel, table=True):
    """The vector of a token, a tag's name or an alias, in a narrow table that is scanned fast."""

    __tablename__ = "tag_vector"

    vocabulary_id: int = Field(sa_column=reference_column("vocabulary.id", primary_key=True))
    token: str = Field(sa_column=Column(Text, primary_key=True))
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))


class TagContextTable(SQLModel, table=True):
    """The context row of a tag; tags that occur with no other have none."""

    __tablename__ = "tag_context"

    vocabulary_id: int = Field(sa_column=reference_column("vocabulary.id", primary_key=True))
    tag: str = Field(sa_column=Column(Text, primary_key=True))
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))


class VocabularyModelTable(SQLModel, table=True):
    """A model of a vocabulary as the bytes of a file."""

    __tablename__ = "vocabulary_model"

    vocabulary_id: int = Field(sa_column=reference_column("vocabulary.id", primary_key=True))
    part: str = Field(sa_column=Column(Text, primary_key=True))
    """`tokens`, `context` or `similarity`."""
    sha256: str
    data: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
