"""Change many jobs at once: one notification of their run instead of one of each job and stage."""

from alembic import op

from migrations.concurrent_indexes import create_index, drop_index

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

SOMEBODY_LISTENS = "EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds')"

# A transaction that changes many jobs of a run says so in ragq.bulk, and notifies the run itself.
STAGE_CHANGED = """
CREATE OR REPLACE FUNCTION tell_changed_stage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {condition} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', run_id, 'job', id)::text)
        FROM job WHERE id = NEW.job_id;
    END IF;
    RETURN NULL;
END $$
"""

JOB_CHANGED = """
CREATE OR REPLACE FUNCTION tell_changed_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {condition} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', NEW.run_id, 'job', NEW.id)::text);
    END IF;
    RETURN NULL;
END $$
"""

NOT_IN_BULK = f"current_setting('ragq.bulk', true) IS DISTINCT FROM 'on' AND {SOMEBODY_LISTENS}"


def upgrade() -> None:
    for function in (STAGE_CHANGED, JOB_CHANGED):
        op.execute(function.format(condition=NOT_IN_BULK))
    # Jobs of a run by state and place: the most urgent ones are found without sorting a million, and the states are
    # counted from the index alone. The old index is the beginning of the new one.
    create_index(
        "ix_job_run_id_status_ordinal",
        "job",
        ["run_id", "status", "ordinal"],
        postgresql_include=["finished_at"],
    )
    drop_index("ix_job_run_id_status", "job")


def downgrade() -> None:
    for function in (STAGE_CHANGED, JOB_CHANGED):
        op.execute(function.format(condition=SOMEBODY_LISTENS))
    create_index("ix_job_run_id_status", "job", ["run_id", "status"])
    drop_index("ix_job_run_id_status_ordinal", "job")
