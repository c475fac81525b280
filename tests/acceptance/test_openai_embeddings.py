"""Participants, corpora and questions are embedded by a server with OpenAI's embeddings API."""

from pathlib import Path

from anyio.from_thread import start_blocking_portal

from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.shelf import QUESTION, TEA, write_shelf
from tests.acceptance.small_data_set import TEST, TRAIN, utterances_of
from tests.scripted_openai import ScriptedOpenAI

MODEL = "served-embedder"
READS = 150
"""Characters of a text that the server takes: less than some chunks have."""
DIGESTS = "SELECT DISTINCT output ->> 'model_digest' AS digest FROM stage_attempt WHERE stage = 'embed'"
CUT = """
SELECT sum((output ->> 'cut_texts')::integer) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.mode = 'corpus'
"""


def test_participants_corpora_and_questions_are_embedded_and_what_was_cut_is_counted(
    install: Install, migrated_template: str, data_directory: Path, evidence: GiveEvidence, tmp_path: Path
) -> None:
    scripted = ScriptedOpenAI([{"id": MODEL, "owned_by": "test"}], reads=READS)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(scripted) as server,
        install(migrated_template) as made,
    ):
        made.settings |= {
            "EMBEDDING_BACKEND": "openai",
            "RAGQ_OPENAI_EMBEDDING_BASE_URL": server.url,
            "MODEL_EMBEDDING_MODEL": MODEL,
            "EMBEDDING_DIMENSION": "8",
            "EMBEDDING_EMBEDDINGS_FILE": "served",
            "RAGQ_LONG_TEXTS": "truncate",
        }
        made.start_worker(LOG_LEVEL="DEBUG")
        for command in (
            ("import", "participants", str(data_directory)),
            ("index", "references", "--split", "paper-train"),
            ("import", "works", str(write_shelf(tmp_path / "shelf")), "--corpus", "shelf", "--wait"),
        ):
            done = made.ragq(*command)
            assert done.exit_code == 0, done.stderr
        assessed = made.submit(*evidence({TEST[0]: 2}), "--few-shot-only", "--until", "retrieve")
        asked = made.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "retrieve")

        assert [made.wait_for(run_id) for run_id in (assessed, asked)] == [{"succeeded": 1}] * 2
        (attempt,) = made.inspect(asked, "embed")
        assert (attempt["output"]["model"], attempt["output"]["dimension"]) == (MODEL, 8)
        assert [len(row["digest"]) for row in made.rows(DIGESTS)] == [64]
        assert made.value(CUT) > 0
        assert {request["model"] for request in server.asked} == {MODEL}
        people = (text for person in (*TRAIN, *TEST) for text in utterances_of(person))
        texts = (*people, *TEA.splitlines()[8:], QUESTION)
        assert [text for text in texts if len(text) > 20 and text in made.logs] == []
