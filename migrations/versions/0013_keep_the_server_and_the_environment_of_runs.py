"""Keep which server and model answered a call, the models that a run is held to, and the environments of processes.

Stored calls and workers name none: nobody knows theirs any more.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("llm_call", sa.Column("served_by", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.create_table(
        "run_model",
        sa.Column("run_id", sa.BigInteger(), sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("identity", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("is_from_submission", sa.Boolean(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
    )
    op.create_table(
        "environment",
        sa.Column("id", sa.BigInteger(), autoincrement=True, primary_key=True),
        sa.Column("hash", sa.String(), nullable=False, unique=True),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    )
    for table in ("run", "worker"):
        op.add_column(
            table, sa.Column("environment_id", sa.BigInteger(), sa.ForeignKey("environment.id"), nullable=True)
        )


def downgrade() -> None:
    for table in ("run", "worker"):
        op.drop_column(table, "environment_id")
    op.drop_table("environment")
    op.drop_table("run_model")
    op.drop_column("llm_call", "served_by")
