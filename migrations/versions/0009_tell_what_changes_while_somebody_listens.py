"""Tell what changes while somebody listens.

A transaction that notifies takes a lock of the whole cluster when it commits, so that workers would commit one after
another. The triggers therefore look first whether anybody listens; whoever does says so again and again, in a table
that is not worth a log.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

SOMEBODY_LISTENS = "EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds')"

# Equal notifications of a transaction are sent once.
STAGE_CHANGED = f"""
CREATE FUNCTION tell_changed_stage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {SOMEBODY_LISTENS} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', run_id, 'job', id)::text)
        FROM job WHERE id = NEW.job_id;
    END IF;
    RETURN NULL;
END $$
"""

JOB_CHANGED = f"""
CREATE FUNCTION tell_changed_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {SOMEBODY_LISTENS} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', NEW.run_id, 'job', NEW.id)::text);
    END IF;
    RETURN NULL;
END $$
"""

JOBS_ADDED = f"""
CREATE FUNCTION tell_added_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {SOMEBODY_LISTENS} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', run_id, 'job', NULL)::text)
        FROM (SELECT DISTINCT run_id FROM added) AS runs;
    END IF;
    RETURN NULL;
END $$
"""

# A renewed lease changes no state, and gets no further than the column list.
TRIGGERS = (
    """
    CREATE TRIGGER tell_changes AFTER UPDATE OF status ON stage_run
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION tell_changed_stage()
    """,
    """
    CREATE TRIGGER tell_changes AFTER UPDATE OF status ON job
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION tell_changed_job()
    """,
    """
    CREATE TRIGGER tell_additions AFTER INSERT ON job
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_added_jobs()
    """,
)


def upgrade() -> None:
    op.create_table(
        "change_listener",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("listened_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        prefixes=["UNLOGGED"],
    )
    for statement in (STAGE_CHANGED, JOB_CHANGED, JOBS_ADDED, *TRIGGERS):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP FUNCTION tell_changed_stage, tell_changed_job, tell_added_jobs CASCADE")
    op.drop_table("change_listener")
