"""Keep corpora, queries, presets and prompt templates."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC, VECTOR
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "corpus",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("backend", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("model_digest", sa.String(), nullable=True),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("embeds_headings", sa.Boolean(), nullable=False),
        sa.Column("searchable_chunks", sa.Integer(), nullable=False),
        sa.Column("searchable_terms", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "prompt_meta",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("function_tag", sa.String(), nullable=False),
        sa.Column("variables", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("function_tag"),
    )
    op.create_table(
        "prompt_templates",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("function_tag", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("template_content", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("version > 0", name="ck_prompt_templates_version"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("function_tag", "version"),
    )
    op.create_index(
        "ux_prompt_templates_active",
        "prompt_templates",
        ["function_tag"],
        unique=True,
        postgresql_where=sa.text("is_active"),
    )
    op.create_table(
        "rag_config",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("preset_name", sa.String(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("config", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_rag_config_default", "rag_config", ["is_default"], unique=True, postgresql_where=sa.text("is_default")
    )
    op.create_index("ux_rag_config_name", "rag_config", [sa.literal_column("lower(preset_name)")], unique=True)
    op.create_table(
        "works",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("corpus_id", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("authors", sa.String(), nullable=True),
        sa.Column("year", sa.Integer(), nullable=True),
        sa.Column("publisher", sa.String(), nullable=True),
        sa.Column("isbn", sa.String(), nullable=True),
        sa.Column("doi", sa.String(), nullable=True),
        sa.Column("edition", sa.String(), nullable=True),
        sa.Column("volume", sa.String(), nullable=True),
        sa.Column("issue", sa.String(), nullable=True),
        sa.Column("pages", sa.String(), nullable=True),
        sa.Column("url", sa.String(), nullable=True),
        sa.Column("city", sa.String(), nullable=True),
        sa.Column("institution", sa.String(), nullable=True),
        sa.Column("editor", sa.String(), nullable=True),
        sa.Column("abstract", sa.Text(), nullable=True),
        sa.Column("work_type", sa.String(), nullable=True),
        sa.Column("source_path", sa.String(), nullable=True),
        sa.Column("markdown", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ux_works_content_hash", "works", ["corpus_id", "content_hash"], unique=True)
    op.create_index("ix_works_source_path", "works", ["corpus_id", "source_path"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("work_id", sa.BigInteger(), nullable=False),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("heading_breadcrumbs", sa.Text(), nullable=True),
        sa.Column("start_line", sa.Integer(), nullable=False),
        sa.Column("end_line", sa.Integer(), nullable=False),
        sa.Column("vector_status", sa.String(), nullable=False),
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
        sa.ForeignKeyConstraint(["parent_id"], ["chunks.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["work_id"], ["works.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_chunks_content_tsvector", "chunks", ["content_tsvector"], unique=False, postgresql_using="gin")
    op.create_index("ix_chunks_parent_id", "chunks", ["parent_id"], unique=False)
    op.create_index("ix_chunks_vector_status", "chunks", ["vector_status"], unique=False)
    op.create_index("ix_chunks_work_id_start_line", "chunks", ["work_id", "start_line"], unique=False)
    op.create_table(
        "queries",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("corpus_id", sa.BigInteger(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("original_query", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ux_queries_job_id", "queries", ["job_id"], unique=True)
    op.create_table(
        "chunk_term",
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("frequency", sa.SmallInteger(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["chunk_id"], ["chunks.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("chunk_id", "term"),
    )
    op.create_index(
        "ix_chunk_term_posting",
        "chunk_term",
        ["corpus_id", "term"],
        unique=False,
        postgresql_include=["chunk_id", "frequency", "length"],
    )
    op.create_table(
        "chunk_token_vectors",
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("vectors", sa.ARRAY(HALFVEC()), nullable=False),
        sa.ForeignKeyConstraint(["chunk_id"], ["chunks.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("chunk_id"),
    )
    op.create_table(
        "chunk_vector",
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(["chunk_id"], ["chunks.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("chunk_id"),
    )
    op.execute("ALTER TABLE chunk_vector ALTER COLUMN vector SET STORAGE MAIN")
    op.create_index("ix_chunk_vector_corpus_id", "chunk_vector", ["corpus_id"], unique=False)
    op.create_table(
        "query_judgement",
        sa.Column("query_id", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("relevance", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["query_id"], ["queries.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("query_id", "document"),
    )
    op.create_table(
        "results",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("query_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt_id", sa.BigInteger(), nullable=True),
        sa.Column("response_text", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("preset", sa.String(), nullable=True),
        sa.Column("sources", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("unknown_citations", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["stage_attempt.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["query_id"], ["queries.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_results_query_id", "results", ["query_id"], unique=False)


def downgrade() -> None:
    op.drop_table("results")
    op.drop_table("query_judgement")
    op.drop_table("chunk_vector")
    op.drop_table("chunk_token_vectors")
    op.drop_table("chunk_term")
    op.drop_table("queries")
    op.drop_table("chunks")
    op.drop_table("works")
    op.drop_table("rag_config")
    op.drop_table("prompt_templates")
    op.drop_table("prompt_meta")
    op.drop_table("corpus")
