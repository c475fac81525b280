"""Keep reports as they were shown, under the digest of the rows that they were computed from."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "kept_report",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("other_id", sa.BigInteger(), nullable=True),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["other_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_kept_report_run_id", "kept_report", ["run_id"])
    op.create_index("ix_kept_report_other_id", "kept_report", ["other_id"])


def downgrade() -> None:
    op.drop_table("kept_report")
