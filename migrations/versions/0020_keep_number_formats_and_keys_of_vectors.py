"""Keep the number formats of indexes, and by which text a vector is found again."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

INDEXES = ("corpus", "reference_index")


def upgrade() -> None:
    for table in INDEXES:
        op.add_column(
            table, sa.Column("model_dtypes", sa.ARRAY(sa.Text()), nullable=False, server_default=sa.text("'{}'"))
        )
    op.add_column("stage_vector", sa.Column("text_key", sa.LargeBinary(), nullable=True))
    op.add_column("stage_vector", sa.Column("is_cut", sa.Boolean(), nullable=True))
    op.create_index(
        "ix_stage_vector_text_key",
        "stage_vector",
        ["text_key"],
        postgresql_where=sa.text("text_key IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_stage_vector_text_key", table_name="stage_vector")
    for column in ("is_cut", "text_key"):
        op.drop_column("stage_vector", column)
    for table in INDEXES:
        op.drop_column(table, "model_dtypes")
