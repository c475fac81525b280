"""Keep which workers hang and how they ended, and a tombstone for each run that was purged."""

import sqlalchemy as sa
from alembic import op

from migrations.concurrent_indexes import create_index, drop_index

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worker", sa.Column("hung_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("worker", sa.Column("hung_in", sa.Text(), nullable=True))
    op.add_column("worker", sa.Column("ended", sa.Text(), nullable=True))
    op.create_table(
        "tombstone",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("settings_hash", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=True),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("purged_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_tombstone_run_id", "tombstone", ["run_id"])
    op.create_index("ix_tombstone_unfinished", "tombstone", ["id"], postgresql_where=sa.text("finished_at IS NULL"))
    # Without it, the deletion of an attempt reads all answers.
    create_index("ix_results_attempt_id", "results", ["attempt_id"])


def downgrade() -> None:
    op.drop_table("tombstone")
    op.drop_column("worker", "ended")
    op.drop_column("worker", "hung_in")
    op.drop_column("worker", "hung_since")
    drop_index("ix_results_attempt_id", "results")
