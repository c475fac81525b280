"""Runs migrations on the connection that `store.migrate` hands in: a transaction each, and one process at a time."""

from alembic import context
from sqlalchemy import text
from sqlmodel import SQLModel

import schemas.tables  # noqa: F401  (registers the tables)

#: Any number, the same for every ragq: migrations of one database wait for each other.
LOCK = 7_241_690

connection = context.config.attributes["connection"]
connection.execute(text("SET statement_timeout = '10min'"))
connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
connection.commit()
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    compare_server_default=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
