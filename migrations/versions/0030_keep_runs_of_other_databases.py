"""Keep runs that were imported from bundles, and the number that a job had in the database that computed it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("origin_id", sa.BigInteger(), nullable=True))
    op.create_table(
        "imported_run",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("bundle_hash", sa.Text(), nullable=False),
        sa.Column("manifest", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("content_hashes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("basis", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("origin", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id"),
        sa.UniqueConstraint("bundle_hash"),
    )


def downgrade() -> None:
    op.drop_table("imported_run")
    op.drop_column("job", "origin_id")
