"""A question that is asked while an import embeds goes before it, and an import embeds no text twice."""

from pathlib import Path

from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, SHORT, write_shelf

OPEN = "SELECT count(*) FROM job WHERE run_id = $1 AND status NOT IN ('succeeded', 'failed')"
EMBEDDED = """
SELECT count(*) FROM job AS j JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'embed' AND s.status = 'done'
WHERE j.run_id = $1
"""
REUSED = """
SELECT sum((a.output ->> 'reused_texts')::integer) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'embed' AND a.outcome = 'succeeded'
"""
SMALL_BATCHES = ("--set", "RAGQ_CORPUS_BATCH_CHUNKS=4")


def write_book(file: Path, *, sections: int) -> Path:
    """A work of long chunks, no two of them alike."""
    parts = (
        f"## Part {part}\n\n" + " ".join(f"Number {part}.{line} follows the number before it." for line in range(30))
        for part in range(sections)
    )
    file.write_text("# Numbers\n\n" + "\n\n".join(parts))
    return file


def test_a_question_does_not_wait_for_an_import(fresh: Installation) -> None:
    shelf = write_shelf(fresh.folder / "shelf")
    fresh.start_worker()
    assert fresh.ragq("import", "works", str(shelf), "--corpus", "shelf", "--wait").exit_code == 0
    book = write_book(fresh.folder / "book.md", sections=80)
    imports = fresh.ragq("import", "works", str(book), "--corpus", "book", *SMALL_BATCHES, "--json").json
    fresh.wait_until(f"SELECT ({EMBEDDED}) > 0", imports["run_id"])

    question = fresh.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", "--until", "consolidate", *SHORT)

    assert fresh.wait_for(question) == {"succeeded": 1}
    assert fresh.value(OPEN, imports["run_id"]) > imports["jobs"] // 4
    assert fresh.wait_for(imports["run_id"]) == {"succeeded": imports["jobs"]}


def test_a_text_that_was_embedded_is_not_embedded_again(fresh: Installation) -> None:
    worker = fresh.start_worker()
    book = write_book(fresh.folder / "book.md", sections=5)
    first = fresh.ragq("import", "works", str(book), "--corpus", "a", "--json").json["run_id"]
    fresh.wait_for(first)
    passes = worker.output.count("texts_encoded")
    second = fresh.ragq("import", "works", str(book), "--corpus", "b", "--json").json["run_id"]
    fresh.wait_for(second)
    assert (fresh.value(REUSED, first), fresh.value(REUSED, second)) == (0, fresh.value(REUSED, second) or -1)
    assert worker.output.count("texts_encoded") == passes

    book.write_text(book.read_text().replace("Number 2.7 follows", "Number 2.7 is after"))
    edited = fresh.ragq("import", "works", str(book), "--corpus", "a", "--json").json["run_id"]
    fresh.wait_for(edited)

    vectors = "SELECT v.vector::text FROM chunk_vector AS v WHERE v.corpus_id = $1 ORDER BY v.chunk_id"
    in_a, in_b = (
        [row["vector"] for row in fresh.rows(vectors, fresh.ragq("corpus", "show", name, "--json").json["id"])]
        for name in ("a", "b")
    )
    assert fresh.value(REUSED, edited) == len(in_b) - 1
    assert sum(one != other for one, other in zip(in_a, in_b, strict=True)) == 1
    assert "these texts were not computed again" in fresh.ragq("show", f"r{edited}").stdout
    assert fresh.ragq("audit", f"r{edited}").exit_code == 0
