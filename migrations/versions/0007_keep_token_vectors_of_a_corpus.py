"""Keep in a corpus whether its chunks have a vector per token."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "corpus", sa.Column("keeps_token_vectors", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("corpus", "keeps_token_vectors")
