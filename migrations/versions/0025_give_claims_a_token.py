"""Give every claim of a stage a random token, so that a claim need not wait for the disk."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("stage_run", sa.Column("claim_token", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("stage_run", "claim_token")
