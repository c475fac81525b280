"""Keep how long the database took in an attempt. Attempts of older versions have none."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("stage_attempt", sa.Column("database_s", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("stage_attempt", "database_s")
