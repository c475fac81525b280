"""Keep when workers purged, and the end of the chains of a run that was deleted, which an anchor is compared with."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tombstone", sa.Column("head", sa.Text(), nullable=True))
    op.create_table(
        "scheduled_purge",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("runs", sa.Integer(), server_default="0", nullable=False),
        sa.Column("jobs", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("calls", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    op.drop_table("scheduled_purge")
    op.drop_column("tombstone", "head")
