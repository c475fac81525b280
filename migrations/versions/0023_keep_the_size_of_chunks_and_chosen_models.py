"""Keep in a corpus how its works are cut, and which models questions take unless a setting names others."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("corpus", sa.Column("chunk_tokens", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("corpus", sa.Column("reads_tokens", sa.Integer(), nullable=True))
    op.add_column("chunks", sa.Column("tokens", sa.Integer(), nullable=True))
    op.create_table(
        "chosen_setting",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("chosen_setting")
    op.drop_column("chunks", "tokens")
    op.drop_column("corpus", "reads_tokens")
    op.drop_column("corpus", "chunk_tokens")
