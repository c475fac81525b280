"""Keep the files that works are converted from, and where the pages of a work begin."""

import sqlalchemy as sa
from alembic import op

from migrations.concurrent_indexes import create_index

revision = "0032"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "original",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.add_column("works", sa.Column("original_hash", sa.String(), nullable=True))
    op.add_column("works", sa.Column("page_lines", sa.ARRAY(sa.Integer()), server_default="{}", nullable=False))
    create_index(
        "ix_job_original", "job", [sa.text("(inputs ->> 'original')")], postgresql_where=sa.text("kind = 'work'")
    )


def downgrade() -> None:
    op.drop_index("ix_job_original", table_name="job")
    op.drop_column("works", "page_lines")
    op.drop_column("works", "original_hash")
    op.drop_table("original")
