"""Keep tags and scores of reference chunks, and what an imported index came with."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("reference_chunk", sa.Column("tags", sa.ARRAY(sa.Text()), nullable=True))
    op.add_column("reference_chunk", sa.Column("scores", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column("reference_index", sa.Column("artifact_meta", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column(
        "reference_index", sa.Column("chunk_scores_meta", postgresql.JSONB(astext_type=sa.Text()), nullable=True)
    )
    op.add_column("reference_index", sa.Column("partial", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.alter_column("reference_index", "run_id", existing_type=sa.BigInteger(), nullable=True)
    op.alter_column("reference_index", "split_csv_hash", existing_type=sa.String(), nullable=True)


def downgrade() -> None:
    # What came from files has no place in the older tables.
    op.execute("DELETE FROM reference_index WHERE run_id IS NULL")
    op.alter_column("reference_index", "split_csv_hash", existing_type=sa.String(), nullable=False)
    op.alter_column("reference_index", "run_id", existing_type=sa.BigInteger(), nullable=False)
    op.drop_column("reference_index", "partial")
    op.drop_column("reference_index", "chunk_scores_meta")
    op.drop_column("reference_index", "artifact_meta")
    op.drop_column("reference_chunk", "scores")
    op.drop_column("reference_chunk", "tags")
