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

# A payload is a few ids. Where many jobs of a run change at once it names the run alone.
TELL = """
CREATE FUNCTION tell_changed_jobs(changed bigint[]) RETURNS void LANGUAGE sql AS $$
    SELECT pg_notify('ragq_changes', json_build_object('run', run_id, 'job', job_id)::text)
    FROM (
        SELECT DISTINCT run_id, CASE WHEN jobs <= 10 THEN id END AS job_id
        FROM (SELECT id, run_id, count(*) OVER (PARTITION BY run_id) AS jobs FROM job WHERE id = ANY(changed)) AS found
    ) AS told
$$
"""

SOMEBODY_LISTENS = "EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds')"

STAGES_CHANGED = f"""
CREATE FUNCTION stages_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {SOMEBODY_LISTENS} THEN
        PERFORM tell_changed_jobs(ARRAY(
            SELECT DISTINCT job_id FROM new_rows AS later JOIN old_rows AS earlier USING (job_id, stage)
            WHERE later.status <> earlier.status));
    END IF;
    RETURN NULL;
END $$
"""

JOBS_CHANGED = f"""
CREATE FUNCTION jobs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {SOMEBODY_LISTENS} THEN
        IF TG_OP = 'INSERT' THEN
            PERFORM tell_changed_jobs(ARRAY(SELECT id FROM new_rows));
        ELSE
            PERFORM tell_changed_jobs(ARRAY(
                SELECT id FROM new_rows AS later JOIN old_rows AS earlier USING (id)
                WHERE later.status <> earlier.status));
        END IF;
    END IF;
    RETURN NULL;
END $$
"""

TRIGGERS = (
    """
    CREATE TRIGGER tell_changes AFTER UPDATE ON stage_run
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION stages_changed()
    """,
    """
    CREATE TRIGGER tell_changes AFTER UPDATE ON job
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION jobs_changed()
    """,
    """
    CREATE TRIGGER tell_new_rows AFTER INSERT ON job
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION jobs_changed()
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
    for statement in (TELL, STAGES_CHANGED, JOBS_CHANGED, *TRIGGERS):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP FUNCTION stages_changed, jobs_changed CASCADE")
    op.execute("DROP FUNCTION tell_changed_jobs")
    op.drop_table("change_listener")
