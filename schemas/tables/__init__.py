"""The tables, one file per area."""

from typing import Final

from sqlmodel import SQLModel

from schemas.tables import api, corpora, participants, queries, runs, vocabularies  # noqa: F401  (registers the tables)

METADATA: Final = SQLModel.metadata
"""Every table."""
