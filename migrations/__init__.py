"""The database's history: alembic revisions, one sentence each."""
