"""The tables, one file per area."""

from typing import Final

from sqlmodel import SQLModel

from schemas.tables import (  # noqa: F401  (registers the tables)
    api,
    batches,
    corpora,
    participants,
    queries,
    runs,
    vocabularies,
)

METADATA: Final = SQLModel.metadata
"""Every table."""
