"""A question that is asked while an import embeds goes before it, and an import embeds no text twice."""

from pathlib import Path
from typing import Any

from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, SHORT

OPEN = "SELECT count(*) FROM job WHERE run_id = $1 AND status NOT IN ('succeeded', 'failed')"
EMBEDDED = """
SELECT count(*) FROM job AS j JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'embed' AND s.status = 'done'
WHERE j.run_id = $1
"""
REUSED = """
SELECT sum((a.output ->> 'reused_texts')::integer) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'embed' AND a.outcome = 'succeeded'
"""
VECTORS = "SELECT v.vector::text FROM chunk_vector AS v WHERE v.corpus_id = $1 ORDER BY v.chunk_id"
SMALL_BATCHES = ("--set", "RAGQ_CORPUS_BATCH_CHUNKS=4")


def write_book(file: Path, *, sections: int) -> Path:
    """A work of long chunks, no two of them alike."""
    parts = (
        f"## Part {part}\n\n" + " ".join(f"Number {part}.{line} follows the number before it." for line in range(30))
        for part in range(sections)
    )
    file.write_text("# Numbers\n\n" + "\n\n".join(parts))
    return file


def test_a_question_does_not_wait_for_an_import_and_no_text_is_embedded_again(shelved: Installation) -> None:
    def imported(corpus: str, *options: str) -> Any:
        return shelved.ragq("import", "works", str(book), "--corpus", corpus, *options, "--json").json

    book = write_book(shelved.folder / "book.md", sections=80)
    worker = shelved.start_worker()
    first = imported("a", *SMALL_BATCHES)
    shelved.wait_until(f"SELECT ({EMBEDDED}) > 0", first["run_id"])
    question = shelved.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "consolidate", *SHORT)
    assert shelved.wait_for(question) == {"succeeded": 1}
    assert shelved.value(OPEN, first["run_id"]) > first["jobs"] // 4
    assert shelved.wait_for(first["run_id"]) == {"succeeded": first["jobs"]}

    passes = worker.output.count("texts_encoded")
    second = imported("b")["run_id"]
    shelved.wait_for(second)
    book.write_text(book.read_text().replace("Number 2.7 follows", "Number 2.7 is after"))
    assert worker.output.count("texts_encoded") == passes
    edited = imported("a")["run_id"]
    shelved.wait_for(edited)

    in_a, in_b = (
        [row["vector"] for row in shelved.rows(VECTORS, shelved.ragq("corpus", "show", name, "--json").json["id"])]
        for name in ("a", "b")
    )
    assert [shelved.value(REUSED, run) for run in (first["run_id"], second, edited)] == [0, len(in_b), len(in_b) - 1]
    assert sum(one != other for one, other in zip(in_a, in_b, strict=True)) == 1
    assert "these texts were not computed again" in shelved.ragq("show", f"r{edited}").stdout
    assert shelved.ragq("audit", f"r{edited}").exit_code == 0
