"""Runs migrations on the connection that `store.migrate` hands in: a transaction each, and one process at a time.

Without a connection they print their SQL."""

from alembic import context
from sqlalchemy import text

from schemas.tables import METADATA

#: Any number, the same for every ragq: migrations of one database wait for each other.
LOCK = 7_241_690

if context.is_offline_mode():
    # With named parameters a percent sign stands for itself.
    context.configure(dialect_name="postgresql", dialect_opts={"paramstyle": "named"}, transaction_per_migration=True)
else:
    connection = context.config.attributes["connection"]
    connection.execute(text("SET statement_timeout = '10min'"))
    connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
    connection.commit()
    context.configure(
        connection=connection, target_metadata=METADATA, compare_server_default=True, transaction_per_migration=True
    )
with context.begin_transaction():
    context.run_migrations()
