"""`ragq index reembed`: another model beside the old one, a switch in one step, and back."""

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Install
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
def installation(install: Install, shelf_template: str) -> Iterator[Installation]:
    with install(shelf_template) as installation:
        yield installation


@pytest.fixture
def other(ollama: ScriptedOllama) -> tuple[str, ...]:
    """The options of a copy that another model embeds, in eight dimensions."""
    ollama.models["other-embedder"] = ScriptedModel("other-embedder", lambda prompt: ScriptedReply())
    return ("--model", "other-embedder", "--set", "EMBEDDING_BACKEND=ollama", "--set", "EMBEDDING_DIMENSION=8")


def test_a_corpus_is_embedded_by_another_model_switched_and_back(
    installation: Installation, other: tuple[str, ...]
) -> None:
    installation.start_worker()
    old, chunks = installation.value(VECTORS, "shelf"), installation.value(CHUNKS, "shelf")
    refused = installation.ragq("index", "reembed", "--corpus", "shelf", "--switch")
    assert (refused.exit_code, "has no copy" in refused.stderr) == (1, True)

    done = installation.ragq("index", "reembed", "--corpus", "shelf", *other)
    assert done.exit_code == 0, done.stderr
    new = installation.value(VECTORS, "shelf-copy")
    assert len(new) == len(old) and installation.value(VECTORS, "shelf") == old
    assert installation.value(CHUNKS, "shelf") == chunks
    again = installation.ragq("index", "reembed", "--corpus", "shelf", *other)
    assert "Every chunk of 'shelf-copy' has its vector." in again.stdout

    switched = installation.ragq("index", "reembed", "--corpus", "shelf", "--switch")
    assert switched.stdout == "Corpus 'shelf' is searched by the vectors of other-embedder (ollama).\n", switched.stderr
    assert installation.value(VECTORS, "shelf") == new and installation.value(VECTORS, "shelf-copy") == old
    assert installation.value(CHUNKS, "shelf") == chunks
    assert installation.ragq("index", "reembed", "--corpus", "shelf", "--switch").exit_code == 1

    assert installation.ragq("index", "reembed", "--corpus", "shelf", "--back").exit_code == 0
    assert installation.value(VECTORS, "shelf") == old and installation.value(VECTORS, "shelf-copy") == new
    assert installation.ragq("corpus", "delete", "shelf-copy", "--yes").exit_code == 0
    assert installation.value(VECTORS, "shelf") == old
    assert installation.ragq("index", "reembed", "--corpus", "shelf", "--back").exit_code == 1


def test_both_are_asked_compared_and_get_new_works(installation: Installation, other: tuple[str, ...]) -> None:
    installation.start_worker()
    assert installation.ragq("index", "reembed", "--corpus", "shelf", *other).exit_code == 0
    left = installation.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank")
    right = installation.submit("--query", QUESTION, "--corpus", "shelf-copy", "--no-expand", "--until", "rerank")
    assert installation.wait_for(left) == installation.wait_for(right) == {"succeeded": 1}
    (difference,) = installation.ragq("diff", f"r{left}", f"r{right}", "--json").json
    assert 0 < difference["compared"][0]["measures"]["lexical"]["overlap"]["value"] <= 1

    book = installation.folder / "new.md"
    book.write_text("# New\n\nThis work came while the corpus had a copy, and both of them have to get it.\n")
    imported = installation.ragq("import", "works", str(book), "--corpus", "shelf", "--wait")
    assert imported.exit_code == 0 and "shelf-copy" in imported.stderr
    eventually(lambda: len(installation.value(VECTORS, "shelf-copy")) == len(installation.value(VECTORS, "shelf")))
    refused = installation.ragq("import", "works", str(book), "--corpus", "shelf-copy")
    assert (refused.exit_code, "Import into 'shelf'" in refused.stderr) == (1, True)
    assert installation.ragq("index", "reembed", "--corpus", "shelf", "--switch").exit_code == 0


def test_nothing_is_mixed_when_a_question_meets_a_switch_or_vectors_are_missing(
    installation: Installation, other: tuple[str, ...]
) -> None:
    killed = installation.start_worker(RAGQ_CRASH_AT="after_compute@embed#1")
    assert installation.ragq("index", "reembed", "--corpus", "shelf", *other, "--no-wait").exit_code == 0
    eventually(lambda: not killed.is_alive)
    refused = installation.ragq("index", "reembed", "--corpus", "shelf", "--switch")
    assert (refused.exit_code, "wait for a vector" in refused.stderr) == (1, True)
    worker = installation.start_worker()
    eventually(
        lambda: len(installation.value(VECTORS, "shelf-copy") or []) == len(installation.value(VECTORS, "shelf"))
    )
    worker.stop()
    asking = installation.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "rerank")
    assert installation.ragq("index", "reembed", "--corpus", "shelf", "--switch").exit_code == 0
    installation.start_worker()

    assert installation.wait_for(asking) == {"failed": 1}
    (failure,) = installation.ragq("failures", f"r{asking}", "--json").json["failures"]
    assert "has taken the vectors of other-embedder" in failure["message"]
