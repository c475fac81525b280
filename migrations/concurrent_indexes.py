"""Indexes on tables that are in use: built while rows are read and written."""

from collections.abc import Sequence
from typing import Any

from alembic import op
from sqlalchemy import text

INVALID = """
SELECT EXISTS (
    SELECT FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relname = :name AND c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid
)
"""


def create_index(name: str, table: str, columns: Sequence[Any], **options: Any) -> None:
    """As `op.create_index`, but nobody who writes to the table waits. It may be repeated.

    It ends the transaction of the migration before it, and what comes after begins another: call it last.
    """
    with op.get_context().autocommit_block():
        # It waits for transactions that began before it, and nobody waits for it.
        op.execute("SET lock_timeout = 0")
        if op.get_bind().scalar(text(INVALID), {"name": name}):
            # A build that was broken off leaves its index behind, which is written and never read.
            op.drop_index(name, table_name=table, postgresql_concurrently=True)
        op.create_index(name, table, columns, postgresql_concurrently=True, if_not_exists=True, **options)
        op.execute("SET lock_timeout = '500ms'")


def drop_index(name: str, table: str) -> None:
    """As `op.drop_index`, but nobody waits. As for `create_index`, call it last."""
    with op.get_context().autocommit_block():
        op.execute("SET lock_timeout = 0")
        op.drop_index(name, table_name=table, postgresql_concurrently=True, if_exists=True)
        op.execute("SET lock_timeout = '500ms'")
