"""Runs a migration on the connection that `store.migrate` hands in: one transaction, one migration at a time."""

from alembic import context
from sqlalchemy import text
from sqlmodel import SQLModel

import schemas.tables  # noqa: F401  (registers the tables)

#: Any number, the same for every ragq: migrations of one database wait for each other.
LOCK = 7_241_690

connection = context.config.attributes["connection"]
connection.execute(text("SET LOCAL lock_timeout = '10s'"))
connection.execute(text("SET LOCAL statement_timeout = '10min'"))
connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
context.configure(connection=connection, target_metadata=SQLModel.metadata, compare_server_default=True)
with context.begin_transaction():
    context.run_migrations()
