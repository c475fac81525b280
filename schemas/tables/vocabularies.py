"""The vocabularies of tags: what was imported, and the models that were built from it."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text

from schemas.tables import columns
from schemas.values.tags import StoredVocabulary, Tag


class VocabularyTable(StoredVocabulary, columns.Row, table=True):  # type: ignore[misc]
    """One import. It is current until a newer one of its name replaces it; its models are built once."""

    __table_args__ = (
        Index("ux_vocabulary_current", "name", unique=True, postgresql_where=text("replaced_at IS NULL")),
    )

    id: int = columns.serial()
    imported_at: datetime = columns.now()
    indexed_at: datetime | None = columns.time()
    replaced_at: datetime | None = columns.time()


class TagTable(Tag, columns.Row, table=True):  # type: ignore[misc]
    """A canonical tag."""

    __table_args__ = (UniqueConstraint("vocabulary_id", "name"),)

    id: int = columns.serial()
    vocabulary_id: int = columns.reference("vocabulary.id")


class TagAliasTable(columns.Row, table=True):
    """Another word for a tag. An alias may stand for several tags."""

    vocabulary_id: int = columns.reference("vocabulary.id", primary_key=True)
    alias: str = columns.text(primary_key=True)
    tag: str = columns.text(primary_key=True)


class TagDocumentTable(columns.Row, table=True):
    """Tags that occur together, which the models learn from."""

    vocabulary_id: int = columns.reference("vocabulary.id", primary_key=True)
    ordinal: int = columns.long(primary_key=True)
    tags: list[str] = columns.array()
    weight: int


class VocabularyModelTable(columns.Row, table=True):
    """A model of a vocabulary as the bytes of a file."""

    vocabulary_id: int = columns.reference("vocabulary.id", primary_key=True)
    part: str = columns.text(primary_key=True)
    """`tokens`, `context` or `similarity`."""
    sha256: str
    data: bytes
