"""Create the tables of runs, jobs, stages, model calls, interviews and references."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.create_table(
        "llm_call",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("request", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("stop_reason", sa.String(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("reply_tokens", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("rejected_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_llm_call_key", "llm_call", ["key"], unique=False)
    op.create_index(
        "ux_llm_call_key", "llm_call", ["key"], unique=True, postgresql_where=sa.text("rejected_at IS NULL")
    )
    op.create_table(
        "participant",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("transcript", sa.Text(), nullable=False),
        sa.Column("transcript_hash", sa.String(), nullable=False),
        sa.Column("utterances", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("gender", sa.Integer(), nullable=True),
        sa.Column("phq8_binary", sa.Integer(), nullable=True),
        sa.Column("phq8_score", sa.Integer(), nullable=True),
        sa.Column("items", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("imported_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("profile", sa.String(), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("settings_hash", sa.String(), nullable=False),
        sa.Column("request", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_run_identity", "run", ["identity"], unique=False)
    op.create_table(
        "split",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("csv_hash", sa.String(), nullable=False),
        sa.Column("ids_hash", sa.String(), nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("stages", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("inputs", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "ordinal"),
    )
    op.create_index("ix_job_run_id_status", "job", ["run_id", "status"], unique=False)
    op.create_table(
        "reference_index",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("split_csv_hash", sa.String(), nullable=False),
        sa.Column("split_ids_hash", sa.String(), nullable=False),
        sa.Column("backend", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("model_digest", sa.String(), nullable=True),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("chunk_size", sa.Integer(), nullable=False),
        sa.Column("chunk_step", sa.Integer(), nullable=False),
        sa.Column("min_evidence_chars", sa.Integer(), nullable=False),
        sa.Column("participants", sa.Integer(), nullable=True),
        sa.Column("chunks", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_reference_index_current",
        "reference_index",
        ["name"],
        unique=True,
        postgresql_where=sa.text("published_at IS NOT NULL AND replaced_at IS NULL"),
    )
    op.create_table(
        "split_member",
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("participant_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["split"], ["split.name"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("split", "ordinal"),
    )
    op.create_table(
        "reference_chunk",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("index_id", sa.BigInteger(), nullable=False),
        sa.Column("participant_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("chunk_hash", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["index_id"], ["reference_index.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("index_id", "participant_id", "ordinal"),
    )
    op.create_table(
        "reference_participant",
        sa.Column("index_id", sa.BigInteger(), nullable=False),
        sa.Column("participant_id", sa.Integer(), nullable=False),
        sa.Column("items", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(["index_id"], ["reference_index.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("index_id", "participant_id"),
    )
    op.create_table(
        "stage_attempt",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("inputs", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("output", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("output_hash", sa.String(), nullable=True),
        sa.Column("previous_hash", sa.String(), nullable=True),
        sa.Column("hash", sa.String(), nullable=True),
        sa.Column("error_type", sa.String(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("error_category", sa.String(), nullable=True),
        sa.Column("error_details", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_id", "stage", "number"),
    )
    op.create_index("ix_stage_attempt_job_id", "stage_attempt", ["job_id", "id"], unique=False)
    op.create_table(
        "stage_run",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("interruptions", sa.Integer(), nullable=False),
        sa.Column("retries", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.String(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("enq_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("enq_n", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "stage"),
    )
    op.create_index(
        "ix_stage_run_due", "stage_run", ["enq_at"], unique=False, postgresql_where=sa.text("status = 'ready'")
    )
    op.create_index(
        "ix_stage_run_leased",
        "stage_run",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_table(
        "llm_call_use",
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("call_id", sa.BigInteger(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("is_reused", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["stage_attempt.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["call_id"],
            ["llm_call.id"],
        ),
        sa.PrimaryKeyConstraint("attempt_id", "ordinal"),
    )
    op.create_table(
        "reference_vector",
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("index_id", sa.Integer(), nullable=False),
        sa.Column("participant_id", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(["chunk_id"], ["reference_chunk.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("chunk_id"),
    )
    op.create_index("ix_reference_vector_index_id", "reference_vector", ["index_id"], unique=False)
    op.create_table(
        "stage_vector",
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["stage_attempt.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt_id", "ordinal"),
    )
    # Vectors stay in their row while a page can hold them: a scan then reads no second table.
    op.execute("ALTER TABLE reference_vector ALTER COLUMN vector SET STORAGE MAIN")
    # Every stage updates these rows several times; room on the page keeps the updates cheap.
    op.execute("ALTER TABLE stage_run SET (fillfactor = 70)")
    op.execute("ALTER TABLE job SET (fillfactor = 85)")


def downgrade() -> None:
    op.drop_table("stage_vector")
    op.drop_index("ix_reference_vector_index_id", table_name="reference_vector")
    op.drop_table("reference_vector")
    op.drop_table("llm_call_use")
    op.drop_index("ix_stage_run_leased", table_name="stage_run", postgresql_where=sa.text("status = 'running'"))
    op.drop_index("ix_stage_run_due", table_name="stage_run", postgresql_where=sa.text("status = 'ready'"))
    op.drop_table("stage_run")
    op.drop_index("ix_stage_attempt_job_id", table_name="stage_attempt")
    op.drop_table("stage_attempt")
    op.drop_table("reference_participant")
    op.drop_table("reference_chunk")
    op.drop_table("split_member")
    op.drop_index(
        "ux_reference_index_current",
        table_name="reference_index",
        postgresql_where=sa.text("published_at IS NOT NULL AND replaced_at IS NULL"),
    )
    op.drop_table("reference_index")
    op.drop_index("ix_job_run_id_status", table_name="job")
    op.drop_table("job")
    op.drop_table("worker")
    op.drop_table("split")
    op.drop_index("ix_run_identity", table_name="run")
    op.drop_table("run")
    op.drop_table("participant")
    op.drop_index("ux_llm_call_key", table_name="llm_call", postgresql_where=sa.text("rejected_at IS NULL"))
    op.drop_index("ix_llm_call_key", table_name="llm_call")
    op.drop_table("llm_call")
