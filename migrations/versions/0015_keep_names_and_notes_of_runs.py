"""Keep names and notes of runs."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("name", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("note", sa.Text(), nullable=True))
    op.create_index("ux_run_name", "run", [sa.literal_column("lower(name)")], unique=True)


def downgrade() -> None:
    op.drop_index("ux_run_name", "run")
    op.drop_column("run", "note")
    op.drop_column("run", "name")
