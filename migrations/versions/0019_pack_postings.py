"""Pack postings: a row for many of them instead of a row for each.

Written from the full text that the chunks have stored, one statement per 16,384 chunks. A worker of the version before
that is still running fails at the table it knows, with the remedy, and stores nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

SEGMENTS = """
SELECT corpus_id, min(chunk_id) AS first, max(chunk_id) AS last FROM (
    SELECT corpus_id, chunk_id, (row_number() OVER (PARTITION BY corpus_id ORDER BY chunk_id) - 1) / 16384 AS number
    FROM chunk_vector
) AS v
GROUP BY corpus_id, number ORDER BY corpus_id, number
"""

CHUNKS = """
SELECT c.id, c.content_tsvector, row_number() OVER (ORDER BY c.id) - 1 AS place
FROM chunk_vector AS v JOIN chunks AS c ON c.id = v.chunk_id
WHERE v.corpus_id = :corpus_id AND v.chunk_id BETWEEN :first AND :last
"""

ADD_SEGMENT = f"""
INSERT INTO posting_segment (corpus_id, chunks, live, first_chunk_id, last_chunk_id, chunk_ids, lengths)
SELECT :corpus_id, count(*), count(*), min(c.id), max(c.id), string_agg(int8send(c.id), '' ORDER BY c.id),
       string_agg(int4send(l.length::int), '' ORDER BY c.id)
FROM ({CHUNKS}) AS c CROSS JOIN LATERAL (
    SELECT coalesce(sum(cardinality(positions)), 0) AS length FROM unnest(c.content_tsvector)
) AS l
RETURNING id
"""

# A term of more than 200 postings has blocks of its own, of 600, and no block of several terms reaches across it.
ADD_BLOCKS = f"""
WITH packed AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS term, count(*) AS postings,
           string_agg(int2send(c.place::int2), '' ORDER BY c.place) AS places,
           string_agg(substring(int2send((cardinality(t.positions) - 1)::int2) FROM 2), '' ORDER BY c.place)
               AS frequencies
    FROM ({CHUNKS}) AS c, unnest(c.content_tsvector) AS t
    GROUP BY 1
), placed AS (
    SELECT p.*, count(*) FILTER (WHERE postings > 200) OVER (ORDER BY term) AS around,
           sum(3 * postings + octet_length(term) + 10) OVER (ORDER BY term)::bigint / 1200 AS number
    FROM packed AS p
), counted AS (
    SELECT p.*, sum(postings) OVER (PARTITION BY around, number ORDER BY term) AS stop
    FROM placed AS p WHERE postings <= 200
)
INSERT INTO posting_block (segment_id, first_term, part, terms, ends, places, frequencies)
SELECT CAST(:segment_id AS bigint), min(term), 0,
       array_agg(term::text ORDER BY term), array_agg(stop::int2 ORDER BY term),
       string_agg(places, '' ORDER BY term), string_agg(frequencies, '' ORDER BY term)
FROM counted GROUP BY around, number
UNION ALL
SELECT CAST(:segment_id AS bigint), p.term, n.part, ARRAY[p.term::text],
       ARRAY[least(600, p.postings - 600 * n.part)::int2], substring(p.places FROM 1200 * n.part + 1 FOR 1200),
       substring(p.frequencies FROM 600 * n.part + 1 FOR 600)
FROM packed AS p CROSS JOIN generate_series(0, ((p.postings - 1) / 600)::int) AS n (part)
WHERE p.postings > 200
"""

UNPACK = """
INSERT INTO chunk_term (chunk_id, term, corpus_id, frequency, length)
SELECT c.id, t.lexeme, v.corpus_id, cardinality(t.positions), sum(cardinality(t.positions)) OVER (PARTITION BY c.id)
FROM chunk_vector AS v JOIN chunks AS c ON c.id = v.chunk_id, unnest(c.content_tsvector) AS t
"""

# What workers of the version before read and write, so that they fail with a remedy.
OLD_WORKERS = (
    """
CREATE FUNCTION chunk_term_is_gone() RETURNS TABLE (
    chunk_id bigint, term text, corpus_id int, frequency smallint, length int
) LANGUAGE plpgsql AS $$ BEGIN
    RAISE 'This worker is older than its database: restart it with the version of ragq that migrated the database.';
END $$
""",
    "CREATE VIEW chunk_term AS SELECT * FROM chunk_term_is_gone()",
    """
CREATE FUNCTION refuse_chunk_term() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM chunk_term_is_gone();
END $$
""",
    "CREATE TRIGGER refuse INSTEAD OF INSERT OR DELETE ON chunk_term FOR EACH ROW EXECUTE FUNCTION refuse_chunk_term()",
)


def upgrade() -> None:
    # Workers that store postings are waited for, and none begins until it is refused. They lock in the same order.
    op.execute("LOCK TABLE chunk_vector IN SHARE ROW EXCLUSIVE MODE")
    op.execute("LOCK TABLE chunk_term IN ACCESS EXCLUSIVE MODE")
    op.create_table(
        "posting_segment",
        sa.Column("id", sa.BigInteger(), autoincrement=True, nullable=False),
        sa.Column("corpus_id", sa.BigInteger(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("live", sa.Integer(), nullable=False),
        sa.Column("first_chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("last_chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("chunk_ids", sa.LargeBinary(), nullable=False),
        sa.Column("lengths", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_posting_segment_corpus_id", "posting_segment", ["corpus_id"], unique=False)
    op.create_table(
        "posting_block",
        sa.Column("segment_id", sa.BigInteger(), nullable=False),
        sa.Column("first_term", sa.Text(collation="C"), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("terms", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("ends", postgresql.ARRAY(sa.SmallInteger()), nullable=False),
        sa.Column("places", sa.LargeBinary(), nullable=False),
        sa.Column("frequencies", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["segment_id"], ["posting_segment.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("segment_id", "first_term", "part"),
    )
    # Every search reads both as a whole: compressing them would cost more than it saves.
    for column in ("chunk_ids", "lengths"):
        op.execute(f"ALTER TABLE posting_segment ALTER COLUMN {column} SET STORAGE EXTERNAL")
    op.execute("SET LOCAL work_mem = '64MB'")
    connection = op.get_bind()
    for segment in connection.execute(sa.text(SEGMENTS)).mappings().all():
        segment_id = connection.execute(sa.text(ADD_SEGMENT), dict(segment)).scalar_one()
        connection.execute(sa.text(ADD_BLOCKS), {**segment, "segment_id": segment_id})
    op.drop_table("chunk_term")
    for statement in OLD_WORKERS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP VIEW chunk_term")
    op.execute("DROP FUNCTION refuse_chunk_term")
    op.execute("DROP FUNCTION chunk_term_is_gone")
    op.drop_table("posting_block")
    op.drop_table("posting_segment")
    op.create_table(
        "chunk_term",
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("frequency", sa.SmallInteger(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
    )
    # Keys and indexes over rows that are there take a fraction of the time.
    op.execute(UNPACK)
    op.create_primary_key("chunk_term_pkey", "chunk_term", ["chunk_id", "term"])
    op.create_foreign_key("chunk_term_chunk_id_fkey", "chunk_term", "chunks", ["chunk_id"], ["id"], ondelete="CASCADE")
    op.create_index(
        "ix_chunk_term_posting",
        "chunk_term",
        ["corpus_id", "term"],
        unique=False,
        postgresql_include=["chunk_id", "frequency", "length"],
    )
