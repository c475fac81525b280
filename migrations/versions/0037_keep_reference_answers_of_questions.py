"""Keep the reference answers of questions, and find the evaluations of an answer."""

import sqlalchemy as sa
from alembic import op

from migrations.concurrent_indexes import create_index

revision = "0037"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("queries", sa.Column("reference_answer", sa.Text(), nullable=True))
    create_index(
        "ix_job_evaluated",
        "job",
        [sa.text("((inputs ->> 'result_id')::bigint)")],
        postgresql_where=sa.text("kind = 'evaluation'"),
    )


def downgrade() -> None:
    op.drop_index("ix_job_evaluated", table_name="job")
    op.drop_column("queries", "reference_answer")
