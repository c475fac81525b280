"""Keep which run, job and attempt a fork shares its first stages with.

The tables are narrow and new: the large ones get no column and no index. Downgrading removes forks.
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

COLUMNS = "s.job_id, s.stage, s.status, a.id AS attempt_id, a.number"
REST = "a.output_hash, a.error_category, a.ended_at"
FROM = """
FROM stage_run AS s
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
"""

# Looked up for an attempt without an output of its own alone: the plans of statements stay as they are.
SHARED_OUTPUT = """
coalesce(a.output, (
    SELECT o.output FROM attempt_source AS f JOIN stage_attempt AS o ON o.id = f.source_id WHERE f.attempt_id = a.id
)) AS output
"""


def upgrade() -> None:
    op.create_table(
        "run_fork",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["parent_id"], ["run.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_index("ix_run_fork_parent_id", "run_fork", ["parent_id"])
    op.create_table(
        "job_fork",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["parent_id"], ["job.id"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("job_id"),
    )
    op.create_index("ix_job_fork_parent_id", "job_fork", ["parent_id"])
    op.create_table(
        "attempt_source",
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["stage_attempt.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["source_id"], ["stage_attempt.id"]),
        sa.PrimaryKeyConstraint("attempt_id"),
    )
    op.create_index("ix_attempt_source_source_id", "attempt_source", ["source_id"])
    op.execute(f"CREATE OR REPLACE VIEW current_attempt AS SELECT {COLUMNS}, {SHARED_OUTPUT}, {REST} {FROM}")


def downgrade() -> None:
    op.execute("DELETE FROM run WHERE id IN (SELECT run_id FROM run_fork)")
    op.execute(f"CREATE OR REPLACE VIEW current_attempt AS SELECT {COLUMNS}, a.output, {REST} {FROM}")
    op.drop_table("attempt_source")
    op.drop_table("job_fork")
    op.drop_table("run_fork")
