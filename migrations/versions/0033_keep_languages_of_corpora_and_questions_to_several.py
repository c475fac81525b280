"""Keep the language of a corpus, tags of works, and the other corpora that a question searches."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

# A generated column cannot read the language from another table, and a new one would rewrite every chunk: the column
# stays as it is, and is filled in when a chunk is stored.
WORDS = """
CREATE FUNCTION set_words_of_chunk() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    configuration text := (
        SELECT k.full_text FROM works AS w JOIN corpus AS k ON k.id = w.corpus_id WHERE w.id = NEW.work_id
    );
BEGIN
    IF configuration IS NULL THEN
        RAISE EXCEPTION 'The corpus of work % has no language yet', NEW.work_id;
    END IF;
    NEW.content_tsvector := to_tsvector(
        configuration::regconfig, coalesce(NEW.heading_breadcrumbs, '') || ' ' || NEW.content
    );
    RETURN NEW;
END $$
"""

TRIGGER = """
CREATE TRIGGER set_words_of_chunk BEFORE INSERT OR UPDATE OF work_id, level, heading_breadcrumbs, content ON chunks
FOR EACH ROW WHEN (NEW.level ~ '-chunk$') EXECUTE FUNCTION set_words_of_chunk()
"""


def upgrade() -> None:
    # What is stored was read as English.
    op.add_column("corpus", sa.Column("language", sa.Text(), server_default="english", nullable=True))
    op.add_column("corpus", sa.Column("full_text", sa.Text(), server_default="english", nullable=True))
    op.add_column("works", sa.Column("tags", sa.String(), nullable=True))
    op.add_column(
        "queries",
        sa.Column("other_corpus_ids", postgresql.ARRAY(sa.BigInteger()), server_default="{}", nullable=False),
    )
    op.execute("ALTER TABLE chunks ALTER COLUMN content_tsvector DROP EXPRESSION")
    op.execute(WORDS)
    op.execute(TRIGGER)


def downgrade() -> None:
    op.execute("DROP TRIGGER set_words_of_chunk ON chunks")
    op.execute("DROP FUNCTION set_words_of_chunk()")
    op.drop_column("chunks", "content_tsvector")
    op.add_column(
        "chunks",
        sa.Column(
            "content_tsvector",
            postgresql.TSVECTOR(),
            sa.Computed(
                "CASE WHEN level::text ~ '-chunk$'::text"
                " THEN to_tsvector('english'::regconfig, coalesce(heading_breadcrumbs, '') || ' ' || content)"
                " ELSE NULL::tsvector END",
                persisted=True,
            ),
            nullable=True,
        ),
    )
    op.create_index("ix_chunks_content_tsvector", "chunks", ["content_tsvector"], unique=False, postgresql_using="gin")
    op.drop_column("queries", "other_corpus_ids")
    op.drop_column("works", "tags")
    op.drop_column("corpus", "full_text")
    op.drop_column("corpus", "language")
