"""Participants, corpora and questions are embedded by a server with OpenAI's embeddings API."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, TEA, write_shelf
from tests.acceptance.small_data_set import TEST, TRAIN, utterances_of
from tests.scripted_openai import ScriptedOpenAI

MODEL = "served-embedder"
READS = 150
"""Characters of a text that the server takes: less than some chunks have."""


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    """A running server, on a thread of its own."""
    scripted = ScriptedOpenAI({"id": MODEL, "owned_by": "test"}, reads=READS)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(scripted) as running:
        yield running


@pytest.fixture
def installation(
    install: Install, migrated_template: str, server: ScriptedOpenAI, data_directory: Path
) -> Iterator[Installation]:
    """An installation that embeds with the server, with the small data set imported and one worker."""
    with install(migrated_template) as made:
        made.settings |= {
            "EMBEDDING_BACKEND": "openai",
            "RAGQ_OPENAI_EMBEDDING_BASE_URL": server.url,
            "MODEL_EMBEDDING_MODEL": MODEL,
            "EMBEDDING_DIMENSION": "8",
            "EMBEDDING_EMBEDDINGS_FILE": "served",
            "RAGQ_LONG_TEXTS": "truncate",
        }
        assert made.ragq("import", "participants", str(data_directory)).exit_code == 0
        made.start_worker(LOG_LEVEL="DEBUG")
        yield made


def test_participants_corpora_and_questions_are_embedded_and_what_was_cut_is_counted(
    installation: Installation, server: ScriptedOpenAI, evidence: GiveEvidence, tmp_path: Path
) -> None:
    built = installation.ragq("index", "references", "--split", "paper-train")
    assert built.exit_code == 0, built.stderr
    assessed = installation.submit(*evidence({TEST[0]: 2}), "--few-shot-only", "--until", "retrieve")
    imported = installation.ragq("import", "works", str(write_shelf(tmp_path / "shelf")), "--corpus", "shelf", "--wait")
    assert imported.exit_code == 0, imported.stderr
    asked = installation.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "retrieve")

    assert [installation.wait_for(run_id) for run_id in (assessed, asked)] == [{"succeeded": 1}] * 2
    (attempt,) = installation.inspect(asked, "embed")
    assert (attempt["output"]["model"], attempt["output"]["dimension"]) == (MODEL, 8)
    digests = installation.rows(
        "SELECT DISTINCT output ->> 'model_digest' AS digest FROM stage_attempt WHERE stage = 'embed'"
    )
    assert [len(row["digest"]) for row in digests] == [64]
    cut = "SELECT sum((output ->> 'cut_texts')::integer) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id "
    assert installation.value(f"{cut} WHERE j.mode = 'corpus'") > 0
    assert {asked["model"] for asked in server.asked} == {MODEL}
    texts = (*(text for person in (*TRAIN, *TEST) for text in utterances_of(person)), *TEA.splitlines()[8:], QUESTION)
    assert [text for text in texts if len(text) > 20 and text in installation.logs] == []
