"""Keep spelling and meaning of vocabularies, and the names of tags as their files write them."""

import sqlalchemy as sa
import sqlmodel
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

EMBEDDER = ("similarity_digest", "sentence_backend", "sentence_model", "sentence_digest")


def upgrade() -> None:
    for column in EMBEDDER:
        op.add_column("vocabulary", sa.Column(column, sqlmodel.AutoString(), nullable=True))
    op.add_column("tag", sa.Column("title", sqlmodel.AutoString(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM vocabulary_model WHERE part = 'similarity'")
    op.drop_column("tag", "title")
    for column in EMBEDDER:
        op.drop_column("vocabulary", column)
