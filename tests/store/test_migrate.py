"""The migrations make the tables, can be reverted, and keep stored rows."""

import asyncio
import json
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from schemas.statuses import Priority
from schemas.values.tags import Tag
from schemas.values.transcript_variants import TranscriptVariant
from store import migrate
from store.corpora.chunk_search import PostgresChunkSearch
from store.database import Database
from store.questions import presets
from store.references import interviews, references
from store.references.interviews import TranscriptIdentity
from store.runs import audit, backlog, call_uses, job_control, ledger, overviews
from store.runs.audit import Audit
from store.runs.backlog import Flow
from store.runs.run_view import run_view
from store.views.lineage import job_trace
from store.vocabularies import built_models, contents, vocabularies
from tests.store.postings import EXPECTED, POSTINGS
from tests.store.statements import execute

IMPORTED: Final = """
INSERT INTO reference_index
    (name, identity, split, split_ids_hash, backend, model, dimension, chunk_size, chunk_step, min_evidence_chars)
VALUES ('small', 'a', 'paper-train', 'i', 'huggingface', 'tiny', 2, 8, 2, 8)
"""

#: What the revision before wrote, and hashed.
CARRIED: Final = {"by": "by hand", "from": {"job": 1, "attempt": 1}}

#: An answer that run 1 paid for, as it was stored before servers were.
PAID: Final = """
INSERT INTO llm_call (id, key, model, digest, request, reply, stop_reason, seconds)
VALUES (1, 'old key', 'm', 'd', '{"messages": []}', 'yes', 'stop', 1);
INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused) VALUES (1, 0, 1, 'extract', false);
"""


def test_tables_and_migrations_agree(database_url: str) -> None:
    migrate.check(database_url)


def test_every_migration_can_be_reverted_and_applied_again(database_url: str) -> None:
    migrate.downgrade(database_url, "base")
    migrate.upgrade(database_url)
    migrate.check(database_url)


def test_the_downgrade_runs_although_indexes_from_files_are_stored(database_url: str) -> None:
    asyncio.run(execute(database_url, IMPORTED))

    migrate.downgrade(database_url, "0001")
    migrate.upgrade(database_url)
    migrate.check(database_url)


async def test_runs_of_the_revision_before_are_readable_and_audit_clean(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0010")
    await execute(database_url, (Path(__file__).parent / "rows_of_revision_0010.sql").read_text())

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        assert [await audit.audit(connection, run_id) for run_id in (1, 2)] == [Audit(6, []), Audit(2, [])]
        view = await run_view(connection, 1)
        trace = await job_trace(connection, 3)
    await database.close()
    assert view is not None
    assert [(job.status, job.kept) for job in view.jobs] == [("succeeded", {"Sleep": 1}), ("waiting", {})]
    assert trace is not None
    assert [(tried.stage, tried.worker_id, tried.inputs, tried.output, tried.vectors) for tried in trace.attempts] == [
        ("extract", "manual", CARRIED, {"quotes": {"Sleep": ["I wake at four."]}}, 0),
        ("embed", "manual", CARRIED, {"model_digest": "d1"}, 2),
    ]


async def test_indexes_of_the_revision_before_get_the_name_of_their_split_and_an_identity(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0011")
    await execute(database_url, (Path(__file__).parent / "rows_of_revision_0011.sql").read_text())

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        names = await connection.fetch("SELECT id, name, identity, replaced_at IS NULL AS live FROM reference_index")
        current = await references.current(connection)
        people = await interviews.transcripts(connection, [316])
        requests = await connection.fetch("SELECT settings, request FROM run WHERE id = 4")
        inputs = await connection.fetchval("SELECT inputs FROM job")
        view = await run_view(connection, 4)
        retried = await job_control.retry(connection, run_id=4)
    await database.close()
    assert [(row["id"], row["name"], row["live"]) for row in sorted(names, key=lambda row: row["id"])] == [
        (1, "tiny_paper_train", False),
        (2, "tiny_avec_train", True),
        (3, "short_windows_paper_train", True),
        (4, "mine", True),
        (5, "tiny_avec_train", False),  # The newer one of this name and identity stays.
        (6, "other-avec_train_v2", True),
        (7, "tiny_avec_train", True),  # Not published yet.
    ]
    stored = {row["id"]: row["identity"] for row in names}
    assert {index.id: index.identity for index in current} == {index.id: stored[index.id] for index in current}
    assert (stored[1] != stored[2], {index.variant for index in current}) == (True, {TranscriptVariant.UNKNOWN})
    assert people == {316: TranscriptIdentity("h316", TranscriptVariant.UNKNOWN)}
    assert requests[0]["settings"]["EMBEDDING_EMBEDDINGS_FILE"]["value"] == "tiny_paper_train"
    assert (requests[0]["request"], inputs["index_id"], "excluded" in inputs) == (
        {"split": "paper-test", "modes": ["few_shot"]},
        1,
        False,
    )
    assert (view is not None, retried) == (True, [1])


async def test_the_downgrade_leaves_one_index_of_a_name(database_url: str) -> None:
    for identity in ("a", "b"):
        await execute(database_url, IMPORTED.replace("'a'", f"'{identity}'"))
    await execute(database_url, "UPDATE reference_index SET published_at = now()")

    await asyncio.to_thread(migrate.downgrade, database_url, "0011")
    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        assert [index.name for index in await references.current(connection)] == ["small"]
    await database.close()


async def test_answers_of_the_revision_before_are_reused_by_the_run_that_paid_for_them_alone(
    database_url: str,
) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0011")
    await execute(database_url, (Path(__file__).parent / "rows_of_revision_0010.sql").read_text())
    await execute(database_url, PAID)

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        found = [await ledger.find_old(connection, "old key", run_id) for run_id in (1, 2)]
        shown = await call_uses.of_attempts(connection, [1])
    await database.close()
    assert [None if one is None else one.reply.text for one in found] == ["yes", None]
    assert [(use.server, use.draw, use.origin) for use in shown[1]] == [(None, 0, "new")]


async def presets_after_the_migration(database_url: str, before: str) -> dict[str, bool]:
    """The presets of a database that had `before` at the revision before, and which is the default."""
    await asyncio.to_thread(migrate.downgrade, database_url, "0015")
    await execute(database_url, "DELETE FROM rag_config")
    await execute(database_url, before)
    await asyncio.to_thread(migrate.upgrade, database_url)
    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        found = {stored.name: stored.is_default for stored in await presets.list_all(connection)}
    await database.close()
    return found


#: As a new database of revision 0018 had it, and changed since.
OLD_BALANCED: Final = """
INSERT INTO rag_config (preset_name, is_default, config) VALUES ('Balanced', true, '{
    "expansion": {"enabled": true, "n": 3, "max_tokens": 0},
    "retrieval": {"dense_limit": 50, "lexical_limit": 50, "lexical": "bm25", "bm25_k1": 0.9, "bm25_b": 0.4,
        "fusion": "zscore", "dense_weight": 0.5, "rrf_k": 50, "top_k_rrf": 75, "top_n_final": 17, "entity_boost": 0.05,
        "min_word_count": 0, "min_char_count": 0, "keep_if_all_short": true, "min_content_length": 750,
        "enrich_lines_above": 0, "enrich_lines_below": 13, "mmr_lambda": 0.7, "reranker_batch_size": 8,
        "reranker_max_length": 512},
    "reranking": {"ranker": "score-fusion", "model": "BAAI/bge-reranker-base", "without_weights": "fail"},
    "validation": {"enabled": false, "model": "", "max_chunks": 17, "allow_empty": false},
    "consolidation": {"enabled": true, "coverage_threshold": 0.5, "line_gap": 7, "min_content_length": 0,
        "enrich_from_md": true},
    "augmentation": {"top_n_contexts": 5, "max_answer_tokens": 0}}'::jsonb || 'CHANGE'::jsonb);
"""

OLD_PRESETS: Final = """
INSERT INTO rag_config (preset_name, is_default, config) VALUES
    ('Default', true, '{"retrieval": {"min_word_count": 150}}'), ('Wide', false, '{"retrieval": {"dense_limit": 50}}');
"""


async def test_old_databases_keep_their_presets_and_get_the_new_ones(database_url: str) -> None:
    found = await presets_after_the_migration(database_url, OLD_PRESETS)

    assert found == {"Balanced": True, "Default": False, "Original": False, "Wide": False}


@pytest.mark.parametrize(
    "choice",
    [
        "UPDATE rag_config SET updated_at = now() + interval '1 s' WHERE is_default",
        "UPDATE rag_config SET is_default = false; UPDATE rag_config SET is_default = true WHERE preset_name = 'Wide'",
    ],
)
async def test_a_default_that_somebody_chose_or_changed_stays_the_default(database_url: str, choice: str) -> None:
    found = await presets_after_the_migration(database_url, OLD_PRESETS + choice)

    assert found.keys() == {"Balanced", "Default", "Original", "Wide"}
    assert found["Balanced"] is False and sum(found.values()) == 1


#: More chunks than a segment holds, terms of 200 and of 201 of them, and chunks without a term and without a vector.
SEARCHABLE: Final = """
INSERT INTO corpus (id, name, backend, model, dimension, embeds_headings, searchable_chunks, searchable_terms)
VALUES (1, 'large', 'b', 'm', 1, true, 0, 0), (2, 'small', 'b', 'm', 1, true, 0, 0);
INSERT INTO works (id, corpus_id, title, markdown, content_hash) VALUES (1, 1, 't', '', 'h'), (2, 2, 't', '', 'h');
INSERT INTO chunks (id, work_id, level, content, start_line, end_line, vector_status)
SELECT n, CASE WHEN n % 1000 = 0 THEN 2 ELSE 1 END, 'H1-chunk', concat_ws(
    ' ', 'tea', repeat('tea ', CASE WHEN n <= 300 THEN n ELSE 0 END),
    CASE WHEN n <= 200 THEN 'zebra' END, CASE WHEN n <= 201 THEN 'ünder' END,
    'walnut' || n, 'clock' || n % 700
), 1, 1, 'vec'
FROM generate_series(1, 17000) AS n;
UPDATE chunks SET content = 'and of the' WHERE id = 2000;
INSERT INTO chunk_vector (chunk_id, corpus_id, vector)
SELECT c.id, w.corpus_id, '[1]' FROM chunks AS c JOIN works AS w ON w.id = c.work_id WHERE c.id % 100 <> 7;
"""

OLD_POSTINGS: Final = f"""
INSERT INTO chunk_term (corpus_id, chunk_id, term, frequency, length)
SELECT corpus_id, chunk_id, term, frequency, length FROM ({EXPECTED}) AS p
"""


async def test_the_postings_of_the_revision_before_are_packed(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0018")
    await execute(database_url, SEARCHABLE)
    await execute(database_url, OLD_POSTINGS)

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=2)
    async with database.connection() as connection:
        assert not await connection.fetch(f"({POSTINGS}) EXCEPT ALL ({EXPECTED})")
        assert not await connection.fetch(f"({EXPECTED}) EXCEPT ALL ({POSTINGS})")
        sizes = await connection.fetch("SELECT corpus_id, chunks, live FROM posting_segment ORDER BY id")
        assert [tuple(row) for row in sizes] == [(1, 16384, 16384), (1, 429, 429), (2, 17, 17)]
        sizes = await connection.fetchrow("SELECT count(*) AS rows, max(pg_column_size(b)) FROM posting_block AS b")
        assert sizes["rows"] < 800 and sizes["max"] <= 2032
        (hits,) = await PostgresChunkSearch(database, k1=0.9, b=0.4).lexical([1], ["zebra"], limit=9, scorer="bm25")
        assert [hit.chunk_id for hit in hits] == list(range(1, 7)) + list(range(8, 11))

        # What a worker of the version before would do.
        with pytest.raises(asyncpg.RaiseError, match="restart it with the version of ragq that migrated"):
            await connection.fetchval("SELECT count(*) FROM chunk_term WHERE corpus_id = 1 AND term = 'tea'")
        with pytest.raises(asyncpg.RaiseError, match="restart it"):
            await connection.execute(OLD_POSTINGS)
        with pytest.raises(asyncpg.RaiseError, match="restart it"):
            await connection.execute("DELETE FROM chunk_term WHERE chunk_id = 1")
    await database.close()


async def test_the_postings_are_unpacked_by_the_downgrade(database_url: str) -> None:
    await execute(database_url, SEARCHABLE.replace("17000", "1700"))

    await asyncio.to_thread(migrate.downgrade, database_url, "0018")

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        rows = "SELECT corpus_id, chunk_id, term, frequency, length FROM chunk_term"
        assert not await connection.fetch(f"({rows}) EXCEPT ALL ({EXPECTED})")
        assert not await connection.fetch(f"({EXPECTED}) EXCEPT ALL ({rows})")
    await database.close()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("{}", (200, "none")),
        ('{"augmentation": {"top_n_contexts": 7, "max_answer_tokens": 0}}', (75, "score-fusion")),
    ],
)
async def test_balanced_keeps_the_order_after_fusion_unless_somebody_changed_it(
    database_url: str, change: str, expected: tuple[int, str]
) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0018")
    await execute(database_url, "DELETE FROM rag_config")
    await execute(database_url, OLD_BALANCED.replace("CHANGE", change))

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        stored = (await presets.get(connection, "Balanced")).preset
    await database.close()
    found = stored.retrieval.top_k_rrf, stored.reranking.ranker
    assert (found, stored.retrieval.late_weight) == (expected, 0)


async def test_presets_without_a_ranker_are_readable_by_the_version_before(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0018")

    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch("SELECT config FROM rag_config")
    await connection.close()
    configs = [json.loads(row["config"]) for row in rows]
    assert {"late_weight" in config["retrieval"] for config in configs} == {False}
    assert "none" not in {config["reranking"]["ranker"] for config in configs}


async def test_a_vocabulary_of_before_keeps_its_models_and_tags(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0018")
    await execute(
        database_url,
        "INSERT INTO vocabulary (name, tags, aliases, documents, model, model_digest, context_digest, dimension) "
        "VALUES ('clothes', 1, 0, 0, 'fasttext', 'a', 'b', 2);"
        "INSERT INTO tag (vocabulary_id, name, category, count) SELECT id, 'hat', '', 5 FROM vocabulary;"
        "INSERT INTO tag_vector (vocabulary_id, token, vector) SELECT id, 'hat', '[1,0]' FROM vocabulary",
    )

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        (found,) = await vocabularies.current(connection)
        tags, _ = await contents.tags_part(connection, found.id, search="", limit=9, offset=0)
        table = await built_models.token_vectors(connection, found.id)
    await database.close()
    assert (found.model, found.similarity_digest, found.sentence_model) == ("fasttext", None, None)
    assert (tags, table.tokens) == ([Tag(name="hat", count=5)], ["hat"])


async def test_jobs_of_the_revision_before_are_in_the_backlog_unless_a_worker_has_them(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0023")
    await execute(
        database_url,
        """
        INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
        VALUES ('tags', 'i', 'demo', '{}', 's', '{}', '0');
        INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status)
        SELECT 1, n, 'tags', 'candidates', n::text, '{}', status
        FROM unnest(ARRAY['waiting', 'running', 'interrupted', 'succeeded', 'paused']) WITH ORDINALITY AS s (status, n)
        """,
    )

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        flow = Flow(1, False)
        assert await backlog.oldest(connection, {}, {flow: 9}) == {flow: [1, 3]}
        # What older processes do counts too: they know nothing of `sent_at`.
        await connection.execute("UPDATE job SET status = 'running' WHERE id = 1")
        await connection.execute("UPDATE job SET status = 'waiting' WHERE id IN (2, 5)")
        assert await backlog.oldest(connection, {}, {flow: 9}) == {flow: [2, 3, 5]}
        (run,) = await overviews.overviews(connection)
    await database.close()
    assert (run.priority, run.share is not None) == (Priority.NORMAL, True)


#: A corpus of the revision before languages: its chunks were read as English by a generated column.
BEFORE_LANGUAGES: Final = """
INSERT INTO corpus (id, name, backend, model, dimension, embeds_headings, searchable_chunks, searchable_terms)
VALUES (1, 'old', 'b', 'm', 1, true, 0, 0);
INSERT INTO works (id, corpus_id, title, markdown, content_hash) VALUES (1, 1, 't', '', 'h');
INSERT INTO chunks (id, work_id, level, content, start_line, end_line, vector_status) VALUES
    (1, 1, 'H1', 'the leaves', 1, 1, 'no_vec'), (2, 1, 'H1-chunk', 'the drying leaves', 1, 1, 'to_vec');
"""


async def test_corpora_of_the_revision_before_languages_are_english_as_they_were(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0032")
    await execute(database_url, BEFORE_LANGUAGES)
    database = Database(database_url, pool_size=1)
    words = "SELECT id, content_tsvector::text AS words FROM chunks ORDER BY id"
    async with database.connection() as connection:
        before = await connection.fetch(words)

    await asyncio.to_thread(migrate.upgrade, database_url)

    async with database.connection() as connection:
        assert await connection.fetch(words) == before
        assert [row["words"] for row in before] == [None, "'dri':2 'leav':3"]
        assert tuple(await connection.fetchrow("SELECT language, full_text FROM corpus")) == ("english", "english")
        await connection.execute("UPDATE chunks SET content = 'green leaves' WHERE id = 2")
        assert (
            await connection.fetchval("SELECT content_tsvector::text FROM chunks WHERE id = 2") == "'green':1 'leav':2"
        )
    await asyncio.to_thread(migrate.downgrade, database_url, "0032")
    async with database.connection() as connection:
        assert [row["words"] for row in await connection.fetch(words)] == [None, "'green':1 'leav':2"]
    await database.close()
