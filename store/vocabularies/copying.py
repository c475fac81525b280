"""The rows of a vocabulary, copied into their tables."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from store.database import Connection

BULK_SECONDS: Final = 600.0
"""For the statements that carry a whole vocabulary."""


async def copy_rows(
    connection: Connection, vocabulary_id: int, table: str, columns: Sequence[str], records: Iterator[tuple[Any, ...]]
) -> None:
    """Copy records into a table of the parts of vocabularies. `columns` are those after the vocabulary's."""
    await connection.copy_records_to_table(
        table,
        columns=("vocabulary_id", *columns),
        records=((vocabulary_id, *record) for record in records),
        timeout=BULK_SECONDS,
    )
