"""Keep vocabularies of tags, their vectors and models."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR

revision = "0006"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "vocabulary",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tags", sa.Integer(), nullable=False),
        sa.Column("aliases", sa.Integer(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("model_digest", sa.String(), nullable=True),
        sa.Column("context_digest", sa.String(), nullable=True),
        sa.Column("dimension", sa.Integer(), nullable=True),
        sa.Column("imported_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("indexed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_vocabulary_current", "vocabulary", ["name"], unique=True, postgresql_where=sa.text("replaced_at IS NULL")
    )
    op.create_table(
        "tag",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("vocabulary_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=True),
        sa.Column("nsfw_probability", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["vocabulary_id"], ["vocabulary.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("vocabulary_id", "name"),
    )
    op.create_table(
        "tag_alias",
        sa.Column("vocabulary_id", sa.BigInteger(), nullable=False),
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["vocabulary_id"], ["vocabulary.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("vocabulary_id", "alias", "tag"),
    )
    op.create_table(
        "tag_document",
        sa.Column("vocabulary_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tags", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["vocabulary_id"], ["vocabulary.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("vocabulary_id", "ordinal"),
    )
    op.create_table(
        "tag_vector",
        sa.Column("vocabulary_id", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(["vocabulary_id"], ["vocabulary.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("vocabulary_id", "token"),
    )
    op.create_table(
        "tag_context",
        sa.Column("vocabulary_id", sa.BigInteger(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(["vocabulary_id"], ["vocabulary.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("vocabulary_id", "tag"),
    )
    op.create_table(
        "vocabulary_model",
        sa.Column("vocabulary_id", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["vocabulary_id"], ["vocabulary.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("vocabulary_id", "part"),
    )
    # Vectors of tokens are read by scans: kept in the row, a scan does not follow a pointer for each.
    op.execute("ALTER TABLE tag_vector ALTER COLUMN vector SET STORAGE MAIN")
    op.execute("ALTER TABLE tag_context ALTER COLUMN vector SET STORAGE MAIN")


def downgrade() -> None:
    for table in (
        "vocabulary_model",
        "tag_context",
        "tag_vector",
        "tag_document",
        "tag_alias",
        "tag",
        "vocabulary",
    ):
        op.drop_table(table)
