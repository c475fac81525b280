"""Create everything that a database has.

Until 0.1.0 is released, its tables are those that `schemas.tables` declares. The release writes them out here, and
revisions of their own change them from then on.
"""

import re

from alembic import op
from sqlalchemy.schema import CreateIndex, CreateTable

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Pages of rows that change often have room left. A scan finds vectors in their rows; bytes of postings are not packed.
STORAGE = """
ALTER TABLE job SET (fillfactor = 85);
ALTER TABLE stage_run SET (fillfactor = 70);
ALTER TABLE chunk_vector ALTER vector SET STORAGE MAIN;
ALTER TABLE reference_vector ALTER vector SET STORAGE MAIN;
ALTER TABLE posting_segment ALTER chunk_ids SET STORAGE EXTERNAL, ALTER lengths SET STORAGE EXTERNAL;
ALTER TABLE posting ALTER places SET STORAGE EXTERNAL, ALTER frequencies SET STORAGE EXTERNAL;
"""

# Whatever makes a job wait puts it back into the backlog: it is to be sent while it is open and `sent_at` is empty. The
# dispatcher is notified once a transaction and run, since equal notifications are sent once. A message that was sent
# before the job was taken back may still be claimed.
BACKLOG = """
CREATE FUNCTION note_due_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'running' THEN
        NEW.sent_at := now();
    ELSE
        NEW.sent_at := NULL;
        PERFORM pg_notify('ragq_due', NEW.run_id::text);
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER note_due BEFORE UPDATE OF status ON job FOR EACH ROW
WHEN (NEW.status IN ('waiting', 'interrupted') OR (NEW.status = 'running' AND NEW.sent_at IS NULL))
EXECUTE FUNCTION note_due_job();
"""

# A transaction that notifies takes a lock of the whole cluster when it commits, so that workers would commit one after
# another. The triggers look first whether anybody listens; whoever does says so again and again.
LISTENED = "EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds')"
# A transaction that changes many jobs of a run says so in ragq.bulk, and notifies the run itself.
CHANGES = f"""
CREATE FUNCTION tell_changed_stage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('ragq.bulk', true) IS DISTINCT FROM 'on' AND {LISTENED} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', run_id, 'job', id)::text)
        FROM job WHERE id = NEW.job_id;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tell_changed_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('ragq.bulk', true) IS DISTINCT FROM 'on' AND {LISTENED} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', NEW.run_id, 'job', NEW.id)::text);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tell_added_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ragq_due', '');
    IF {LISTENED} THEN
        PERFORM pg_notify('ragq_changes', json_build_object('run', run_id, 'job', NULL)::text)
        FROM (SELECT DISTINCT run_id FROM added) AS runs;
    END IF;
    RETURN NULL;
END $$;

-- A renewed lease changes no state, and gets no further than the column list.
CREATE TRIGGER tell_changes AFTER UPDATE OF status ON stage_run
FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION tell_changed_stage();

CREATE TRIGGER tell_changes AFTER UPDATE OF status ON job
FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION tell_changed_job();

CREATE TRIGGER tell_additions AFTER INSERT ON job
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_added_jobs();
"""

# The stored answer is the truth: an attempt that ends takes its pieces with it, however it ends.
ANSWERS = """
CREATE FUNCTION drop_answer_pieces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM answer_piece WHERE attempt_id = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER drop_answer_pieces AFTER UPDATE OF outcome ON stage_attempt
FOR EACH ROW WHEN (NEW.stage = 'generate' AND NEW.outcome <> 'running') EXECUTE FUNCTION drop_answer_pieces();
"""

# Not a generated column: that cannot read the language from another table.
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
END $$;

CREATE TRIGGER set_words_of_chunk BEFORE INSERT OR UPDATE OF work_id, level, heading_breadcrumbs, content ON chunks
FOR EACH ROW WHEN (NEW.level ~ '-chunk$') EXECUTE FUNCTION set_words_of_chunk();
"""

# The status is the stage's: only where it is `done` does the output count.
VIEWS = """
CREATE VIEW current_attempt AS
SELECT s.job_id, s.stage, s.status, a.id AS attempt_id, a.number, a.output, a.output_hash, a.error_category, a.ended_at
FROM stage_run AS s
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts;

-- Queries under the column names of the original's table, for those who read by SQL.
CREATE VIEW query_state AS
SELECT q.id, q.original_query, e.output -> 'queries' AS expanded_queries, e.output ->> 'hyde_answer' AS hyde_answer,
    e.output ->> 'intent' AS intent, e.output -> 'entities' AS entities,
    v.embedding_original, v.embeddings_mqe, v.embedding_hyde,
    CASE WHEN b.status = 'failed' THEN 'vec_err' WHEN b.status = 'done' THEN 'vec'
         WHEN e.output IS NOT NULL THEN 'to_vec' ELSE 'no_vec' END AS vector_status,
    r.retrieved_context, c.output -> 'groups' AS clean_retrieval_context,
    q.created_at, greatest(q.updated_at, e.ended_at, b.ended_at, k.ended_at, c.ended_at) AS updated_at
FROM queries AS q
LEFT JOIN current_attempt AS e ON e.job_id = q.job_id AND e.stage = 'expand' AND e.status = 'done'
LEFT JOIN current_attempt AS b ON b.job_id = q.job_id AND b.stage = 'embed'
LEFT JOIN current_attempt AS k ON k.job_id = q.job_id AND k.stage = 'validate' AND k.status = 'done'
LEFT JOIN current_attempt AS c ON c.job_id = q.job_id AND c.stage = 'consolidate' AND c.status = 'done'
CROSS JOIN LATERAL (
    SELECT (array_agg(s.vector) FILTER (WHERE t.text = 'original'))[1] AS embedding_original,
        jsonb_agg(to_jsonb(s.vector::real[]) ORDER BY s.ordinal) FILTER (WHERE t.text = 'mqe') AS embeddings_mqe,
        (array_agg(s.vector) FILTER (WHERE t.text = 'hyde'))[1] AS embedding_hyde
    FROM jsonb_array_elements_text(b.output -> 'texts') WITH ORDINALITY AS t (text, place)
    JOIN stage_vector AS s ON s.attempt_id = b.attempt_id AND s.ordinal = t.place - 1
    WHERE b.status = 'done'
) AS v
CROSS JOIN LATERAL (
    SELECT CASE WHEN k.output IS NOT NULL THEN coalesce(jsonb_agg(
        (h.chunk - 'chunk_id' - 'fused_score') || jsonb_build_object(
            'id', h.chunk -> 'chunk_id', 'fusion_score', h.chunk -> 'fused_score'
        ) ORDER BY h.place
    ), '[]') END AS retrieved_context
    FROM jsonb_array_elements(k.output -> 'chunks') WITH ORDINALITY AS h (chunk, place)
) AS r;
"""


def upgrade() -> None:
    # SQLModel takes a second to load, which whoever only looks at the revision need not wait for.
    from schemas.tables import METADATA

    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    for table in METADATA.sorted_tables:
        op.execute(CreateTable(table))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            op.execute(CreateIndex(index))
    for part in (STORAGE, BACKLOG, CHANGES, ANSWERS, WORDS, VIEWS):
        for statement in re.split(r";\n+(?=ALTER |CREATE |-- )", part.strip().removesuffix(";")):
            op.execute(statement)
