"""Keep what limits calls of language models: permits and refusals per server, and the limits of a run.

The tables of servers are not worth a log: a crash of Postgres ends the permits, and what a server refuses it refuses
again. `take_llm_permit` sees the calls of all workers, since each of its statements has a snapshot of its own, taken
after the row of the server is locked.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

TAKE = """
CREATE FUNCTION take_llm_permit(
    server_name text, of_job bigint, of_stage text, of_fence integer, needed_tokens bigint,
    most_calls integer, most_requests integer, most_tokens bigint, returned bigint[], returned_tokens bigint[],
    OUT permit bigint, OUT reason text, OUT wait_s double precision
) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz;
    moment double precision;
    sent record;
    excess_requests bigint;
    excess_tokens bigint;
    leaves bigint;
BEGIN
    INSERT INTO llm_server (server, refusals) VALUES (server_name, 0) ON CONFLICT DO NOTHING;
    SELECT s.refused_until INTO until FROM llm_server AS s WHERE s.server = server_name FOR UPDATE;
    WITH released AS (
        DELETE FROM llm_permit AS p USING unnest(returned, returned_tokens) AS r (id, tokens)
        WHERE p.id = r.id RETURNING p.second, r.tokens - p.tokens AS difference
    )
    UPDATE llm_second AS s SET tokens = greatest(s.tokens + d.difference, 0)
    FROM (SELECT r.second, sum(r.difference) AS difference FROM released AS r GROUP BY r.second) AS d
    WHERE s.server = server_name AND s.second = d.second AND d.difference IS NOT NULL;
    moment := extract(epoch FROM clock_timestamp());
    IF until > clock_timestamp() THEN
        reason := 'refused';
        wait_s := extract(epoch FROM until) - moment;
        RETURN;
    END IF;
    IF (SELECT count(*) FROM llm_permit AS p WHERE p.server = server_name) >= coalesce(most_calls, 256) THEN
        DELETE FROM llm_permit AS p WHERE p.server = server_name AND NOT EXISTS (
            SELECT FROM stage_run AS s
            WHERE s.job_id = p.job_id AND s.stage = p.stage AND s.fence = p.fence AND s.status = 'running'
        );
        IF (SELECT count(*) FROM llm_permit AS p WHERE p.server = server_name) >= most_calls THEN
            reason := 'calls';
            RETURN;
        END IF;
    END IF;
    IF most_requests IS NOT NULL OR most_tokens IS NOT NULL THEN
        DELETE FROM llm_second AS s WHERE s.server = server_name AND s.second < floor(moment) - 60;
        SELECT coalesce(sum(s.requests), 0) AS requests, coalesce(sum(s.tokens), 0) AS tokens
        INTO sent FROM llm_second AS s WHERE s.server = server_name;
        excess_requests := sent.requests + 1 - most_requests;
        excess_tokens := CASE WHEN most_tokens IS NOT NULL
                              THEN least(sent.tokens + needed_tokens - most_tokens, sent.tokens) END;
        IF excess_requests > 0 OR excess_tokens > 0 THEN
            SELECT min(gone.second) INTO leaves FROM (
                SELECT s.second, sum(s.requests) OVER (ORDER BY s.second) AS requests,
                       sum(s.tokens) OVER (ORDER BY s.second) AS tokens
                FROM llm_second AS s WHERE s.server = server_name
            ) AS gone
            WHERE gone.requests >= coalesce(excess_requests, 0) AND gone.tokens >= coalesce(excess_tokens, 0);
            reason := CASE WHEN excess_requests > 0 THEN 'requests' ELSE 'tokens' END;
            wait_s := greatest(leaves + 61 - moment, 0.05);
            RETURN;
        END IF;
        INSERT INTO llm_second (server, second, requests, tokens)
        VALUES (server_name, floor(moment), 1, needed_tokens)
        ON CONFLICT (server, second) DO UPDATE
        SET requests = llm_second.requests + 1, tokens = llm_second.tokens + EXCLUDED.tokens;
    END IF;
    INSERT INTO llm_permit (server, job_id, stage, fence, second, tokens)
    VALUES (server_name, of_job, of_stage, of_fence, floor(moment), needed_tokens) RETURNING id INTO permit;
END $$
"""


def upgrade() -> None:
    op.create_table(
        "llm_server",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("refused_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("server"),
        prefixes=["UNLOGGED"],
    )
    op.create_table(
        "llm_permit",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("second", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        prefixes=["UNLOGGED"],
    )
    op.create_index("ix_llm_permit_server", "llm_permit", ["server"])
    op.create_table(
        "llm_second",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("second", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("server", "second"),
        prefixes=["UNLOGGED"],
    )
    op.create_table(
        "llm_wait",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "stage"),
        prefixes=["UNLOGGED"],
    )
    op.create_index("ix_llm_wait_server", "llm_wait", ["server", "reason", "since"])
    op.execute(TAKE)
    op.create_table(
        "run_limit",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("max_failures", sa.Text(), nullable=True),
        sa.Column("max_llm_calls", sa.BigInteger(), nullable=True),
        sa.Column("max_tokens", sa.BigInteger(), nullable=True),
        sa.Column("llm_calls", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed_before", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("finished_before", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id"),
    )


def downgrade() -> None:
    op.drop_table("run_limit")
    op.execute("DROP FUNCTION take_llm_permit")
    for name in ("llm_wait", "llm_second", "llm_permit", "llm_server"):
        op.drop_table(name)
