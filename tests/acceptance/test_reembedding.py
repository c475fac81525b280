"""`ragq index reembed`: a model of a server with OpenAI's API beside the old one, a switch in one step, and back."""

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, TEA
from tests.eventually import eventually
from tests.scripted_openai import ScriptedOpenAI

VECTORS = """
SELECT array_agg(v.vector::text ORDER BY w.source_path, c.start_line, c.id)
FROM chunk_vector AS v JOIN chunks AS c ON c.id = v.chunk_id JOIN works AS w ON w.id = c.work_id
JOIN corpus AS k ON k.id = w.corpus_id WHERE k.name = $1
"""
CHUNKS = """
SELECT array_agg(c.id ORDER BY c.id) FROM chunks AS c JOIN works AS w ON w.id = c.work_id
JOIN corpus AS k ON k.id = w.corpus_id WHERE k.name = $1
"""
REEMBED = ("index", "reembed", "--corpus", "shelf")
MODEL = "served"
OTHER = ("--model", MODEL, "--set", "EMBEDDING_BACKEND=openai", "--set", "EMBEDDING_DIMENSION=8")
CUT = """
SELECT sum((output ->> 'cut_texts')::integer) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.mode = 'corpus'
"""


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    """A server of embeddings that takes fewer characters of a text than some chunks have."""
    scripted = ScriptedOpenAI([{"id": MODEL, "owned_by": "test"}], reads=150)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(scripted) as running:
        yield running


def test_a_corpus_is_embedded_by_another_model_compared_switched_and_back(
    shelved: Installation, server: ScriptedOpenAI
) -> None:
    def ask(corpus: str) -> int:
        return shelved.submit("--query", QUESTION, "--corpus", corpus, "--no-expand", "--until", "rerank", "--new")

    def refused(*options: str) -> str:
        done = shelved.ragq(*options)
        assert done.exit_code == 1
        return done.stderr

    shelved.settings |= {"RAGQ_OPENAI_EMBEDDING_BASE_URL": server.url, "RAGQ_LONG_TEXTS": "truncate"}
    worker = shelved.start_worker(LOG_LEVEL="DEBUG")
    old, chunks = shelved.value(VECTORS, "shelf"), shelved.value(CHUNKS, "shelf")
    assert "has no copy" in refused(*REEMBED, "--switch")
    shelved.do(*REEMBED, *OTHER, "--wait")
    assert shelved.value(CUT) > 0 and {request["model"] for request in server.asked} == {MODEL}
    new = shelved.value(VECTORS, "shelf-copy")
    assert len(new) == len(old) and shelved.value(VECTORS, "shelf") == old
    assert "Every chunk of 'shelf-copy' has its vector." in shelved.ragq(*REEMBED, *OTHER).stdout

    left, right = ask("shelf"), ask("shelf-copy")
    assert shelved.wait_for(left) == shelved.wait_for(right) == {"succeeded": 1}
    (difference,) = shelved.ragq("diff", f"r{left}", f"r{right}", "--json").json
    assert 0 < difference["compared"][0]["measures"]["lexical"]["overlap"]["value"] <= 1

    worker.stop()
    texts = (*TEA.splitlines()[8:], QUESTION)
    assert [text for text in texts if len(text) > 20 and text in shelved.logs] == []
    asking = ask("shelf")
    switched = shelved.ragq(*REEMBED, "--switch")
    assert switched.stdout == "Corpus 'shelf' is searched by the vectors of served (openai).\n", switched.stderr
    assert shelved.value(VECTORS, "shelf") == new and shelved.value(VECTORS, "shelf-copy") == old
    refused(*REEMBED, "--switch")
    shelved.start_worker()
    assert shelved.wait_for(asking) == {"failed": 1}, "vectors of two models were mixed"
    (failure,) = shelved.ragq("failures", f"r{asking}", "--json").json["failures"]
    assert "has taken the vectors of served" in failure["message"]

    shelved.do(*REEMBED, "--back")
    assert shelved.value(VECTORS, "shelf") == old and shelved.value(VECTORS, "shelf-copy") == new
    assert shelved.value(CHUNKS, "shelf") == chunks
    book = shelved.folder / "new.md"
    book.write_text("# New\n\nThis work came while the corpus had a copy, and both of them have to get it.\n")
    imported = shelved.ragq("import", "works", str(book), "--corpus", "shelf", "--wait")
    assert imported.exit_code == 0 and "shelf-copy" in imported.stderr
    eventually(lambda: len(shelved.value(VECTORS, "shelf-copy")) == len(shelved.value(VECTORS, "shelf")))
    assert len(shelved.value(VECTORS, "shelf")) > len(old)
    assert "Import into 'shelf'" in refused("import", "works", str(book), "--corpus", "shelf-copy")

    kept = shelved.value(VECTORS, "shelf")
    shelved.do("corpus", "delete", "shelf-copy", "--yes")
    assert shelved.value(VECTORS, "shelf") == kept
    refused(*REEMBED, "--back")
