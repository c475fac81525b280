"""Keep the backlog in the database: which jobs are to be sent, whose turn is when, and how much the workers take.

A job is to be sent while it is open and `sent_at` is empty. Triggers keep that so whatever makes a job wait, processes
of older versions too, and notify the dispatcher: once a transaction and run, since equal notifications are sent once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

OPEN = "status IN ('waiting', 'running', 'interrupted')"

# Jobs of a million take about a second to index: less than a worker waits for a statement.
INDEXES = (
    f"ix_job_backlog ON job (run_id, is_awaited, id) WHERE {OPEN} AND sent_at IS NULL",
    f"ix_job_sent ON job (sent_at) WHERE {OPEN} AND sent_at IS NOT NULL",
    "ix_run_partial ON run (id) WHERE kind = 'index' AND (request ->> 'allow_partial')::boolean",
)

# A message that was sent before the job was taken back into the backlog may still be claimed.
JOB_IS_DUE = """
CREATE FUNCTION note_due_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'running' THEN
        NEW.sent_at := now();
    ELSE
        NEW.sent_at := NULL;
        PERFORM pg_notify('ragq_due', NEW.run_id::text);
    END IF;
    RETURN NEW;
END $$
"""

JOBS_ARE_DUE = """
CREATE FUNCTION note_added_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ragq_due', '');
    RETURN NULL;
END $$
"""

TRIGGERS = (
    """
    CREATE TRIGGER note_due BEFORE UPDATE OF status ON job FOR EACH ROW
    WHEN (NEW.status IN ('waiting', 'interrupted') OR (NEW.status = 'running' AND NEW.sent_at IS NULL))
    EXECUTE FUNCTION note_due_job()
    """,
    "CREATE TRIGGER note_added AFTER INSERT ON job FOR EACH STATEMENT EXECUTE FUNCTION note_added_jobs()",
)


def upgrade() -> None:
    op.add_column("run", sa.Column("priority", sa.Text(), server_default=sa.text("'normal'"), nullable=False))
    op.add_column("job", sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("job", sa.Column("is_awaited", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("worker", sa.Column("concurrency", sa.Integer(), nullable=True))
    op.add_column("worker", sa.Column("broker", sa.Text(), nullable=True))
    op.execute("UPDATE job SET sent_at = now() WHERE status = 'running'")
    for statement in (JOB_IS_DUE, JOBS_ARE_DUE, *TRIGGERS):
        op.execute(statement)
    for index in INDEXES:
        op.execute(f"CREATE INDEX {index}")


def downgrade() -> None:
    op.execute("DROP FUNCTION note_due_job, note_added_jobs CASCADE")
    for index in ("ix_run_partial", "ix_job_sent", "ix_job_backlog"):
        op.execute(f"DROP INDEX {index}")
    op.drop_column("worker", "broker")
    op.drop_column("worker", "concurrency")
    op.drop_column("job", "is_awaited")
    op.drop_column("job", "sent_at")
    op.drop_column("run", "priority")
