"""`ragq index reembed`: another model beside the old one, a switch in one step, and back."""

import pytest

from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

VECTORS = """
SELECT array_agg(v.vector::text ORDER BY w.source_path, c.start_line, c.id)
FROM chunk_vector AS v JOIN chunks AS c ON c.id = v.chunk_id JOIN works AS w ON w.id = c.work_id
JOIN corpus AS k ON k.id = w.corpus_id WHERE k.name = $1
"""
CHUNKS = """
SELECT array_agg(c.id ORDER BY c.id) FROM chunks AS c JOIN works AS w ON w.id = c.work_id
JOIN corpus AS k ON k.id = w.corpus_id WHERE k.name = $1
"""


@pytest.fixture
def other(ollama: ScriptedOllama) -> tuple[str, ...]:
    """The options of a copy that another model embeds, in eight dimensions."""
    ollama.models["other-embedder"] = ScriptedModel("other-embedder", lambda prompt: ScriptedReply())
    return ("--model", "other-embedder", "--set", "EMBEDDING_BACKEND=ollama", "--set", "EMBEDDING_DIMENSION=8")


def test_a_corpus_is_embedded_by_another_model_switched_and_back(shelved: Installation, other: tuple[str, ...]) -> None:
    shelved.start_worker()
    old, chunks = shelved.value(VECTORS, "shelf"), shelved.value(CHUNKS, "shelf")
    refused = shelved.ragq("index", "reembed", "--corpus", "shelf", "--switch")
    assert (refused.exit_code, "has no copy" in refused.stderr) == (1, True)

    done = shelved.ragq("index", "reembed", "--corpus", "shelf", *other)
    assert done.exit_code == 0, done.stderr
    new = shelved.value(VECTORS, "shelf-copy")
    assert len(new) == len(old) and shelved.value(VECTORS, "shelf") == old
    assert shelved.value(CHUNKS, "shelf") == chunks
    again = shelved.ragq("index", "reembed", "--corpus", "shelf", *other)
    assert "Every chunk of 'shelf-copy' has its vector." in again.stdout

    switched = shelved.ragq("index", "reembed", "--corpus", "shelf", "--switch")
    assert switched.stdout == "Corpus 'shelf' is searched by the vectors of other-embedder (ollama).\n", switched.stderr
    assert shelved.value(VECTORS, "shelf") == new and shelved.value(VECTORS, "shelf-copy") == old
    assert shelved.value(CHUNKS, "shelf") == chunks
    assert shelved.ragq("index", "reembed", "--corpus", "shelf", "--switch").exit_code == 1

    assert shelved.ragq("index", "reembed", "--corpus", "shelf", "--back").exit_code == 0
    assert shelved.value(VECTORS, "shelf") == old and shelved.value(VECTORS, "shelf-copy") == new
    assert shelved.ragq("corpus", "delete", "shelf-copy", "--yes").exit_code == 0
    assert shelved.value(VECTORS, "shelf") == old
    assert shelved.ragq("index", "reembed", "--corpus", "shelf", "--back").exit_code == 1


def test_both_are_asked_compared_and_get_new_works(shelved: Installation, other: tuple[str, ...]) -> None:
    shelved.start_worker()
    assert shelved.ragq("index", "reembed", "--corpus", "shelf", *other).exit_code == 0
    left = shelved.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank")
    right = shelved.submit("--query", QUESTION, "--corpus", "shelf-copy", "--no-expand", "--until", "rerank")
    assert shelved.wait_for(left) == shelved.wait_for(right) == {"succeeded": 1}
    (difference,) = shelved.ragq("diff", f"r{left}", f"r{right}", "--json").json
    assert 0 < difference["compared"][0]["measures"]["lexical"]["overlap"]["value"] <= 1

    book = shelved.folder / "new.md"
    book.write_text("# New\n\nThis work came while the corpus had a copy, and both of them have to get it.\n")
    imported = shelved.ragq("import", "works", str(book), "--corpus", "shelf", "--wait")
    assert imported.exit_code == 0 and "shelf-copy" in imported.stderr
    eventually(lambda: len(shelved.value(VECTORS, "shelf-copy")) == len(shelved.value(VECTORS, "shelf")))
    refused = shelved.ragq("import", "works", str(book), "--corpus", "shelf-copy")
    assert (refused.exit_code, "Import into 'shelf'" in refused.stderr) == (1, True)
    assert shelved.ragq("index", "reembed", "--corpus", "shelf", "--switch").exit_code == 0


def test_nothing_is_mixed_when_a_question_meets_a_switch_or_vectors_are_missing(
    shelved: Installation, other: tuple[str, ...]
) -> None:
    killed = shelved.start_worker(RAGQ_CRASH_AT="after_compute@embed#1")
    assert shelved.ragq("index", "reembed", "--corpus", "shelf", *other, "--no-wait").exit_code == 0
    eventually(lambda: not killed.is_alive)
    refused = shelved.ragq("index", "reembed", "--corpus", "shelf", "--switch")
    assert (refused.exit_code, "wait for a vector" in refused.stderr) == (1, True)
    worker = shelved.start_worker()
    eventually(lambda: len(shelved.value(VECTORS, "shelf-copy") or []) == len(shelved.value(VECTORS, "shelf")))
    worker.stop()
    asking = shelved.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank")
    assert shelved.ragq("index", "reembed", "--corpus", "shelf", "--switch").exit_code == 0
    shelved.start_worker()

    assert shelved.wait_for(asking) == {"failed": 1}
    (failure,) = shelved.ragq("failures", f"r{asking}", "--json").json["failures"]
    assert "has taken the vectors of other-embedder" in failure["message"]
