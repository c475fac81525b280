"""Create everything that a database has. What is released is changed by revisions of its own."""

import re

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;

-- Interviews and splits.
CREATE TABLE participant (
    data_set text,
    id integer,
    transcript text NOT NULL,
    transcript_hash varchar NOT NULL,
    utterances jsonb NOT NULL,
    variant text NOT NULL DEFAULT 'unknown',
    irregular_rows jsonb NOT NULL DEFAULT '{}',
    gender integer,
    phq8_binary integer,
    phq8_score integer,
    items jsonb,
    imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (data_set, id)
);

CREATE TABLE split (
    data_set text,
    name text,
    csv_hash varchar NOT NULL,
    ids_hash varchar NOT NULL,
    origin jsonb,
    imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (data_set, name)
);

CREATE TABLE split_member (
    data_set text,
    split text,
    ordinal integer,
    participant_id integer NOT NULL,
    PRIMARY KEY (data_set, split, ordinal),
    FOREIGN KEY (data_set, split) REFERENCES split ON DELETE CASCADE
);

-- Calls of language models, and which attempts use them.
CREATE TABLE llm_call (
    id bigserial PRIMARY KEY,
    key varchar NOT NULL,
    model varchar NOT NULL,
    digest varchar NOT NULL,
    request jsonb NOT NULL,
    reply text NOT NULL,
    stop_reason varchar NOT NULL,
    prompt_tokens integer,
    reply_tokens integer,
    seconds float8 NOT NULL,
    tokens jsonb,
    served_by jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    is_batched boolean NOT NULL DEFAULT false,
    is_fresh boolean NOT NULL DEFAULT false,
    rejected_at timestamptz
);
CREATE INDEX ix_llm_call_key ON llm_call (key);
CREATE UNIQUE INDEX ux_llm_call_key ON llm_call (key) WHERE rejected_at IS NULL;

-- Workers and their environments.
CREATE TABLE environment (
    id bigserial PRIMARY KEY,
    hash varchar NOT NULL UNIQUE,
    content jsonb NOT NULL
);

-- Runs and jobs.
CREATE TABLE run (
    id bigserial PRIMARY KEY,
    name text,
    note text,
    kind varchar NOT NULL,
    identity varchar NOT NULL,
    profile varchar NOT NULL,
    settings jsonb NOT NULL,
    settings_hash varchar NOT NULL,
    request jsonb NOT NULL,
    version varchar NOT NULL,
    environment_id bigint REFERENCES environment,
    priority text NOT NULL DEFAULT 'normal',
    emptied_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_run_identity ON run (identity);
CREATE INDEX ix_run_partial ON run (id) WHERE kind = 'index' AND (request ->> 'allow_partial')::boolean;
CREATE UNIQUE INDEX ux_run_name ON run (lower(name));

CREATE TABLE run_model (
    run_id bigint REFERENCES run ON DELETE CASCADE,
    model text,
    identity jsonb NOT NULL,
    is_from_submission boolean NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, model)
);

CREATE TABLE job (
    id bigserial PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    ordinal integer NOT NULL,
    kind varchar NOT NULL,
    mode varchar NOT NULL,
    subject varchar NOT NULL,
    inputs jsonb NOT NULL,
    status varchar NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    note text,
    sent_at timestamptz,
    is_awaited boolean NOT NULL DEFAULT false,
    UNIQUE (run_id, ordinal)
) WITH (fillfactor = 85);
CREATE INDEX ix_job_backlog ON job (run_id, is_awaited, id)
    WHERE status IN ('waiting', 'running', 'interrupted') AND sent_at IS NULL;
CREATE INDEX ix_job_evaluated ON job (((inputs ->> 'result_id')::bigint)) WHERE kind = 'evaluation';
CREATE INDEX ix_job_original ON job ((inputs ->> 'original')) WHERE kind = 'work';
CREATE INDEX ix_job_run_id_status_ordinal ON job (run_id, status, ordinal) INCLUDE (finished_at);
CREATE INDEX ix_job_sent ON job (sent_at)
    WHERE status IN ('waiting', 'running', 'interrupted') AND sent_at IS NOT NULL;

-- Stages and their attempts.
CREATE TABLE stage_run (
    job_id bigint REFERENCES job ON DELETE CASCADE,
    stage text,
    position integer NOT NULL,
    status varchar NOT NULL,
    fence integer NOT NULL,
    claim_token bigint,
    attempts integer NOT NULL,
    interruptions integer NOT NULL,
    retries integer NOT NULL,
    worker_id varchar,
    lease_until timestamptz,
    enq_at timestamptz,
    enq_n integer NOT NULL,
    queue varchar,
    not_before timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (job_id, stage)
) WITH (fillfactor = 70);
CREATE INDEX ix_stage_run_due ON stage_run (enq_at) WHERE status = 'ready';
CREATE INDEX ix_stage_run_leased ON stage_run (lease_until) WHERE status = 'running';

CREATE TABLE stage_attempt (
    id bigserial PRIMARY KEY,
    job_id bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    stage varchar NOT NULL,
    number integer NOT NULL,
    fence integer NOT NULL,
    worker_id varchar NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    outcome varchar NOT NULL,
    inputs jsonb,
    output jsonb,
    output_hash varchar,
    previous_hash varchar,
    hash varchar,
    error_type varchar,
    error_message text,
    error_category varchar,
    error_details jsonb,
    database_s float8,
    UNIQUE (job_id, stage, number)
);
CREATE INDEX ix_stage_attempt_job_id ON stage_attempt (job_id, id);

CREATE TABLE stage_vector (
    attempt_id bigint REFERENCES stage_attempt ON DELETE CASCADE,
    ordinal bigint,
    vector vector NOT NULL,
    text_key bytea,
    is_cut boolean,
    PRIMARY KEY (attempt_id, ordinal)
);
CREATE INDEX ix_stage_vector_text_key ON stage_vector (text_key) WHERE text_key IS NOT NULL;

-- Calls of language models, and which attempts use them.
CREATE TABLE llm_call_use (
    attempt_id bigint REFERENCES stage_attempt ON DELETE CASCADE,
    ordinal integer,
    call_id bigint NOT NULL REFERENCES llm_call,
    purpose varchar NOT NULL,
    is_reused boolean NOT NULL,
    PRIMARY KEY (attempt_id, ordinal)
);
CREATE INDEX ix_llm_call_use_call_id ON llm_call_use (call_id);

-- Workers and their environments.
CREATE TABLE worker (
    id text PRIMARY KEY,
    host varchar NOT NULL,
    pid integer NOT NULL,
    stages text[] NOT NULL,
    version varchar NOT NULL,
    environment_id bigint NOT NULL REFERENCES environment,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    servers jsonb NOT NULL,
    concurrency integer NOT NULL,
    broker text NOT NULL
);

-- Limits of runs.
CREATE TABLE run_limit (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    max_failures text,
    max_llm_calls bigint,
    max_tokens bigint,
    llm_calls bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    failed_before bigint NOT NULL DEFAULT 0,
    finished_before bigint NOT NULL DEFAULT 0
);

-- Stages that wait for a language model server. Not worth a log: after a crash of Postgres they are due in time.
CREATE UNLOGGED TABLE llm_wait (
    job_id bigint REFERENCES job ON DELETE CASCADE,
    stage text,
    server text NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz NOT NULL,
    refusals integer NOT NULL,
    PRIMARY KEY (job_id, stage)
);
CREATE INDEX ix_llm_wait_server ON llm_wait (server, reason, since);

-- Calls that are sent as batches of a provider, and the stages that wait for them.
CREATE TABLE llm_batch_run (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    hours float8 NOT NULL
);

CREATE TABLE llm_batch (
    id bigserial PRIMARY KEY,
    name text NOT NULL,
    server text NOT NULL,
    model text NOT NULL,
    hours float8 NOT NULL,
    calls integer NOT NULL,
    status text NOT NULL,
    provider_id text,
    answered integer NOT NULL,
    note text,
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz,
    ended_at timestamptz,
    due_at timestamptz
);
CREATE INDEX ix_llm_batch_due ON llm_batch (due_at);

CREATE TABLE llm_batch_call (
    key text PRIMARY KEY,
    batch_id bigint REFERENCES llm_batch ON DELETE CASCADE,
    server text NOT NULL,
    model text NOT NULL,
    hours float8 NOT NULL,
    call jsonb NOT NULL,
    served_by jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    is_single boolean NOT NULL,
    error text
);
CREATE INDEX ix_llm_batch_call_batch_id ON llm_batch_call (batch_id);

CREATE TABLE llm_batch_stage (
    key text,
    job_id bigint REFERENCES job ON DELETE CASCADE,
    stage text,
    PRIMARY KEY (key, job_id, stage)
);
CREATE INDEX ix_llm_batch_stage_job_id ON llm_batch_stage (job_id);

-- Which runs and jobs were forked from which.
CREATE TABLE run_fork (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    parent_id bigint REFERENCES run ON DELETE SET NULL,
    stage text NOT NULL
);
CREATE INDEX ix_run_fork_parent_id ON run_fork (parent_id);

-- Runs that wait for another one.
CREATE TABLE run_wait (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    after_id bigint NOT NULL
);

-- Who is told when runs have finished, and the messages.
CREATE TABLE run_notification (
    run_id bigint PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    url text NOT NULL,
    is_armed boolean NOT NULL,
    message_id text,
    message jsonb,
    attempts bigint DEFAULT 0 NOT NULL,
    due_at timestamptz,
    sent_at timestamptz,
    error text
);

CREATE TABLE job_fork (
    job_id bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    parent_id bigint REFERENCES job ON DELETE SET NULL
);
CREATE INDEX ix_job_fork_parent_id ON job_fork (parent_id);

-- Reference indexes.
CREATE TABLE reference_index (
    id bigserial PRIMARY KEY,
    name varchar NOT NULL,
    identity varchar NOT NULL,
    run_id bigint REFERENCES run,
    data_set varchar NOT NULL,
    split varchar NOT NULL,
    split_csv_hash varchar,
    split_ids_hash varchar NOT NULL,
    variant text NOT NULL DEFAULT 'unknown',
    backend varchar NOT NULL,
    model varchar NOT NULL,
    model_digest varchar,
    model_dtypes text[] NOT NULL DEFAULT '{}',
    dimension integer NOT NULL,
    chunk_size integer NOT NULL,
    chunk_step integer NOT NULL,
    min_evidence_chars integer NOT NULL,
    evidence varchar,
    participants integer,
    chunks integer,
    artifact_meta jsonb,
    chunk_scores_meta jsonb,
    partial jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz,
    replaced_at timestamptz
);
CREATE UNIQUE INDEX ux_reference_index_current ON reference_index (name, identity)
    WHERE published_at IS NOT NULL AND replaced_at IS NULL;

CREATE TABLE reference_participant (
    index_id bigint REFERENCES reference_index ON DELETE CASCADE,
    participant_id integer,
    items jsonb,
    PRIMARY KEY (index_id, participant_id)
);

CREATE TABLE reference_evidence (
    index_id bigint REFERENCES reference_index ON DELETE CASCADE,
    participant_id integer,
    item varchar,
    vector vector NOT NULL,
    PRIMARY KEY (index_id, participant_id, item)
);

CREATE TABLE reference_chunk (
    id bigserial PRIMARY KEY,
    index_id bigint NOT NULL REFERENCES reference_index ON DELETE CASCADE,
    participant_id integer NOT NULL,
    ordinal integer NOT NULL,
    text text NOT NULL,
    chunk_hash varchar NOT NULL,
    tags text[],
    scores jsonb,
    UNIQUE (index_id, participant_id, ordinal)
);

CREATE TABLE reference_vector (
    chunk_id bigint PRIMARY KEY REFERENCES reference_chunk ON DELETE CASCADE,
    index_id integer NOT NULL,
    participant_id integer NOT NULL,
    ordinal integer NOT NULL,
    vector vector STORAGE MAIN NOT NULL
);
CREATE INDEX ix_reference_vector_index_id ON reference_vector (index_id);

-- Corpora and what their chunks are found by.
CREATE TABLE corpus (
    id bigserial PRIMARY KEY,
    name varchar NOT NULL UNIQUE,
    backend varchar NOT NULL,
    model varchar NOT NULL,
    model_digest varchar,
    model_dtypes text[] NOT NULL DEFAULT '{}',
    dimension integer NOT NULL,
    embeds_headings boolean NOT NULL,
    chunk_tokens integer NOT NULL DEFAULT 0,
    reads_tokens integer,
    language text DEFAULT 'english',
    full_text text DEFAULT 'english',
    searchable_chunks integer NOT NULL,
    searchable_terms integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Corpora that have the works of others, embedded by another model.
CREATE TABLE corpus_copy (
    corpus_id bigint PRIMARY KEY REFERENCES corpus ON DELETE CASCADE,
    of_id bigint NOT NULL UNIQUE REFERENCES corpus ON DELETE CASCADE,
    has_old_vectors boolean NOT NULL
);

CREATE TABLE works (
    id bigserial PRIMARY KEY,
    corpus_id bigint NOT NULL REFERENCES corpus ON DELETE CASCADE,
    title text NOT NULL,
    authors varchar,
    year integer,
    publisher varchar,
    isbn varchar,
    doi varchar,
    edition varchar,
    volume varchar,
    issue varchar,
    pages varchar,
    url varchar,
    city varchar,
    institution varchar,
    editor varchar,
    abstract text,
    work_type varchar,
    tags varchar,
    source_path varchar,
    markdown text NOT NULL,
    content_hash varchar NOT NULL,
    original_hash varchar,
    page_lines integer[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_works_source_path ON works (corpus_id, source_path);
CREATE UNIQUE INDEX ux_works_content_hash ON works (corpus_id, content_hash);

CREATE TABLE original (
    hash varchar PRIMARY KEY,
    content bytea NOT NULL,
    size bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE chunks (
    id bigserial PRIMARY KEY,
    work_id bigint NOT NULL REFERENCES works ON DELETE CASCADE,
    parent_id bigint REFERENCES chunks ON DELETE CASCADE,
    level varchar NOT NULL,
    content text NOT NULL,
    heading_breadcrumbs text,
    start_line integer NOT NULL,
    end_line integer NOT NULL,
    vector_status varchar NOT NULL,
    tokens integer,
    content_tsvector tsvector
);
CREATE INDEX ix_chunks_content_tsvector ON chunks USING gin (content_tsvector);
CREATE INDEX ix_chunks_parent_id ON chunks (parent_id);
CREATE INDEX ix_chunks_vector_status ON chunks (vector_status);
CREATE INDEX ix_chunks_work_id_start_line ON chunks (work_id, start_line);

CREATE TABLE chunk_vector (
    chunk_id bigint PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    corpus_id integer NOT NULL,
    vector vector STORAGE MAIN NOT NULL
);
CREATE INDEX ix_chunk_vector_corpus_id ON chunk_vector (corpus_id);

CREATE TABLE posting_segment (
    id bigserial PRIMARY KEY,
    corpus_id bigint NOT NULL REFERENCES corpus ON DELETE CASCADE,
    chunks integer NOT NULL,
    live integer NOT NULL,
    first_chunk_id bigint NOT NULL,
    last_chunk_id bigint NOT NULL,
    chunk_ids bytea STORAGE EXTERNAL NOT NULL,
    lengths bytea STORAGE EXTERNAL NOT NULL,
    buckets integer NOT NULL
);
CREATE INDEX ix_posting_segment_corpus_id ON posting_segment (corpus_id);

CREATE TABLE posting (
    segment_id bigint REFERENCES posting_segment ON DELETE CASCADE,
    bucket integer,
    terms text[] NOT NULL,
    ends integer[] NOT NULL,
    places bytea STORAGE EXTERNAL NOT NULL,
    frequencies bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (segment_id, bucket)
);

-- Presets, templates and settings that somebody chose.
CREATE TABLE rag_config (
    id bigserial PRIMARY KEY,
    preset_name varchar NOT NULL,
    is_default boolean NOT NULL,
    description text,
    config jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX ux_rag_config_default ON rag_config (is_default) WHERE is_default;
CREATE UNIQUE INDEX ux_rag_config_name ON rag_config (lower(preset_name));

CREATE TABLE prompt_templates (
    id bigserial PRIMARY KEY,
    function_tag varchar NOT NULL,
    version integer NOT NULL,
    title varchar NOT NULL,
    template_content text NOT NULL,
    is_active boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (function_tag, version),
    CONSTRAINT ck_prompt_templates_version CHECK (version > 0)
);
CREATE UNIQUE INDEX ux_prompt_templates_active ON prompt_templates (function_tag) WHERE is_active;

CREATE TABLE prompt_meta (
    id bigserial PRIMARY KEY,
    function_tag varchar NOT NULL UNIQUE,
    variables jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE chosen_setting (
    name text PRIMARY KEY,
    value text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Questions and answers.
CREATE TABLE queries (
    id bigserial PRIMARY KEY,
    job_id bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    corpus_id bigint NOT NULL REFERENCES corpus ON DELETE CASCADE,
    other_corpus_ids bigint[] NOT NULL DEFAULT '{}',
    external_id varchar,
    original_query text NOT NULL,
    reference_answer text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX ux_queries_job_id ON queries (job_id);

CREATE TABLE query_judgement (
    query_id bigint REFERENCES queries ON DELETE CASCADE,
    document text,
    relevance integer NOT NULL,
    PRIMARY KEY (query_id, document)
);

CREATE TABLE results (
    id bigserial PRIMARY KEY,
    query_id bigint NOT NULL REFERENCES queries ON DELETE CASCADE,
    attempt_id bigint REFERENCES stage_attempt ON DELETE CASCADE,
    response_text text NOT NULL,
    origin varchar NOT NULL,
    model varchar,
    prompt_hash varchar NOT NULL,
    preset varchar,
    sources jsonb NOT NULL,
    unknown_citations jsonb NOT NULL,
    is_cut boolean NOT NULL DEFAULT false,
    basis jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_results_attempt_id ON results (attempt_id);
CREATE INDEX ix_results_query_id ON results (query_id);

CREATE UNLOGGED TABLE answer_piece (
    attempt_id bigint REFERENCES stage_attempt ON DELETE CASCADE,
    ordinal integer,
    text text NOT NULL,
    PRIMARY KEY (attempt_id, ordinal)
);

-- Vocabularies of tags.
CREATE TABLE vocabulary (
    id bigserial PRIMARY KEY,
    name varchar NOT NULL,
    tags integer NOT NULL,
    aliases integer NOT NULL,
    documents integer NOT NULL,
    model varchar,
    model_digest varchar,
    context_digest varchar,
    dimension integer,
    similarity_digest varchar,
    sentence_backend varchar,
    sentence_model varchar,
    sentence_digest varchar,
    imported_at timestamptz NOT NULL DEFAULT now(),
    indexed_at timestamptz,
    replaced_at timestamptz
);
CREATE UNIQUE INDEX ux_vocabulary_current ON vocabulary (name) WHERE replaced_at IS NULL;

CREATE TABLE tag (
    id bigserial PRIMARY KEY,
    vocabulary_id bigint NOT NULL REFERENCES vocabulary ON DELETE CASCADE,
    name varchar NOT NULL,
    category varchar NOT NULL,
    count integer,
    nsfw_probability float8,
    title varchar,
    UNIQUE (vocabulary_id, name)
);

CREATE TABLE tag_alias (
    vocabulary_id bigint REFERENCES vocabulary ON DELETE CASCADE,
    alias text,
    tag text,
    PRIMARY KEY (vocabulary_id, alias, tag)
);

CREATE TABLE tag_document (
    vocabulary_id bigint REFERENCES vocabulary ON DELETE CASCADE,
    ordinal bigint,
    tags text[] NOT NULL,
    weight integer NOT NULL,
    PRIMARY KEY (vocabulary_id, ordinal)
);

CREATE TABLE tag_vector (
    vocabulary_id bigint REFERENCES vocabulary ON DELETE CASCADE,
    token text,
    vector vector STORAGE MAIN NOT NULL,
    PRIMARY KEY (vocabulary_id, token)
);

CREATE TABLE tag_context (
    vocabulary_id bigint REFERENCES vocabulary ON DELETE CASCADE,
    tag text,
    vector vector STORAGE MAIN NOT NULL,
    PRIMARY KEY (vocabulary_id, tag)
);

CREATE TABLE vocabulary_model (
    vocabulary_id bigint REFERENCES vocabulary ON DELETE CASCADE,
    part text,
    sha256 varchar NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (vocabulary_id, part)
);

-- Who may ask over HTTP, and what was asked under which key.
CREATE TABLE api_token (
    id bigserial PRIMARY KEY,
    name varchar NOT NULL,
    token_hash text NOT NULL UNIQUE,
    scope varchar NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    used_at timestamptz,
    revoked_at timestamptz
);

CREATE TABLE api_session (
    session_hash text PRIMARY KEY,
    token_id bigint NOT NULL REFERENCES api_token ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz
);

CREATE TABLE idempotency_key (
    principal text,
    key_hash text,
    request_hash varchar NOT NULL,
    made jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, key_hash)
);

CREATE UNLOGGED TABLE change_listener (
    id bigint PRIMARY KEY,
    listened_at timestamptz NOT NULL DEFAULT now()
);
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

CREATE FUNCTION note_added_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('ragq_due', '');
    RETURN NULL;
END $$;

CREATE TRIGGER note_due BEFORE UPDATE OF status ON job FOR EACH ROW
WHEN (NEW.status IN ('waiting', 'interrupted') OR (NEW.status = 'running' AND NEW.sent_at IS NULL))
EXECUTE FUNCTION note_due_job();

CREATE TRIGGER note_added AFTER INSERT ON job FOR EACH STATEMENT EXECUTE FUNCTION note_added_jobs();
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
LEFT JOIN current_attempt AS f ON f.job_id = q.job_id AND f.stage = 'retrieve' AND f.status = 'done'
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
            'id', h.chunk -> 'chunk_id', 'fusion_score', h.chunk -> 'fused_score',
            'rrf_score', CASE WHEN f.output ->> 'fusion' = 'rrf' THEN h.chunk -> 'fused_score' END
        ) ORDER BY h.place
    ), '[]') END AS retrieved_context
    FROM jsonb_array_elements(k.output -> 'chunks') WITH ORDINALITY AS h (chunk, place)
) AS r;
"""


def upgrade() -> None:
    for part in (TABLES, BACKLOG, CHANGES, ANSWERS, WORDS, VIEWS):
        for statement in re.split(r";\n+(?=CREATE |-- )", part.strip().removesuffix(";")):
            op.execute(statement)
