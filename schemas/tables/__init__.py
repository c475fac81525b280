"""The tables, one file per area. Importing this package registers all of them on SQLModel's metadata."""

from schemas.tables import (  # noqa: F401  (registers the tables)
    api,
    batches,
    corpora,
    participants,
    queries,
    runs,
    vocabularies,
)
