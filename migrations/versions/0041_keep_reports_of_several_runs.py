"""Keep reports of several runs; those that were kept are computed again."""

import sqlalchemy as sa
from alembic import op

from migrations import concurrent_indexes

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM kept_report")
    op.drop_column("kept_report", "other_id")
    op.add_column("kept_report", sa.Column("other_ids", sa.ARRAY(sa.BigInteger()), server_default="{}", nullable=False))
    concurrent_indexes.create_index("ix_kept_report_other_ids", "kept_report", ["other_ids"], postgresql_using="gin")


def downgrade() -> None:
    op.execute("DELETE FROM kept_report")
    op.drop_column("kept_report", "other_ids")
    op.add_column("kept_report", sa.Column("other_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key("kept_report_other_id_fkey", "kept_report", "run", ["other_id"], ["id"], ondelete="CASCADE")
    op.create_index("ix_kept_report_other_id", "kept_report", ["other_id"])
