"""Works are imported, embedded by real workers in batches, and found, although workers are killed."""

from pathlib import Path
from typing import Any

import pytest

from schemas.chains import stages_of
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.harness import BROKEN
from tests.store.small_corpora import EXPECTED, POSTINGS

CORPUS = stages_of("index", "corpus")

#: Whether each searchable chunk has exactly one vector and its postings, and the corpus counts them right.
CONSISTENT = f"""
SELECT c.searchable_chunks = (SELECT count(*) FROM chunks WHERE vector_status = 'vec')
   AND c.searchable_chunks = (SELECT count(*) FROM chunk_vector AS v WHERE v.corpus_id = c.id)
   AND c.searchable_chunks = (SELECT sum(s.live) FROM posting_segment AS s WHERE s.corpus_id = c.id)
   AND NOT EXISTS (({POSTINGS}) EXCEPT ALL ({EXPECTED})) AND NOT EXISTS (({EXPECTED}) EXCEPT ALL ({POSTINGS}))
FROM corpus AS c WHERE c.name = 'small'
"""
REUSED = """
SELECT sum((a.output ->> 'reused_texts')::integer) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'embed'
"""


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A folder of three works with two searchable chunks each."""
    folder = tmp_path / "books"
    folder.mkdir()
    for name in ("tea", "bridge", "clock"):
        (folder / f"{name}.md").write_text(
            f"# The {name}\n\nAbout a {name}.\n\n## Parts\n\nWhat a {name} is made of.\n"
        )
    return folder


def submitted(installation: BreakableInstallation, books: Path, *options: str) -> dict[str, Any]:
    """What an import in batches of two chunks prints."""
    options = ("--corpus", "small", "--set", "RAGQ_CORPUS_BATCH_CHUNKS=2", *options)
    done = installation.do("import", "works", str(books), "--json", *options)
    printed: dict[str, Any] = done.json
    return printed


def corpus(installation: BreakableInstallation) -> dict[str, Any]:
    """What `ragq corpus show` prints."""
    shown: dict[str, Any] = installation.ragq("corpus", "show", "small", "--json").json
    return shown


def numbers(installation: BreakableInstallation) -> tuple[int, int, int]:
    """The numbers of chunks that can be found, that wait, and whose job failed."""
    shown = corpus(installation)
    return shown["searchable"], shown["waiting"], shown["failed"]


def test_works_are_embedded_once_replaced_whole_and_indexed_while_the_corpus_grows(
    breakable: BreakableInstallation, books: Path
) -> None:
    grows = ("--set", "RAGQ_HNSW_FROM_CHUNKS=3")
    replaced = submitted(breakable, books, *grows)
    for file in books.iterdir():
        file.write_text(file.read_text().replace("About", "All about"))
    first = submitted(breakable, books, *grows)
    assert (replaced["new"], first["replaced"], first["jobs"], numbers(breakable)) == (3, 3, 3, (0, 6, 0))
    breakable.start_worker(concurrency=1)
    breakable.assert_recovered(first["run_id"], jobs=3)
    breakable.assert_recovered(replaced["run_id"], jobs=3)

    (attempt,) = breakable.inspect(replaced["run_id"], "embed")
    assert (attempt["output"]["chunk_ids"], attempt["output"]["gone"]) == ([], 2)
    assert numbers(breakable) == (6, 0, 0)
    assert corpus(breakable)["model_digest"]
    assert breakable.value(CONSISTENT)
    (index,) = breakable.rows("SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'chunk_vector_hnsw_%'")
    assert "halfvec(8)" in index["indexdef"]
    again = submitted(breakable, books)
    assert (again["unchanged"], again["run_id"]) == (3, None)

    (books / "tea.md").write_text("# The tea\n\nAbout coffee.\n")
    changed = submitted(breakable, books)
    breakable.wait_for(changed["run_id"])
    assert (changed["replaced"], changed["jobs"], numbers(breakable)) == (1, 1, (5, 0, 0))
    assert breakable.value(CONSISTENT)
    assert breakable.value(f"SELECT count(*) FROM ({POSTINGS}) AS p WHERE term = 'coffe'") == 1

    breakable.do("corpus", "delete", "small", "--yes")
    assert breakable.value("SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'chunk_vector_hnsw_%'") == 0


def test_killed_workers_lose_no_chunk_and_many_small_batches_leave_few_segments(
    breakable: BreakableInstallation, books: Path
) -> None:
    for number in range(9):
        (books / f"more {number}.md").write_text(f"# Part {number}\n\nAbout part {number}.\n\n## More\n\nThe end.\n")
    with breakable.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        run_id = submitted(breakable, books, "--set", "RAGQ_CORPUS_BATCH_CHUNKS=1")["run_id"]
        breakable.assert_recovered(run_id, jobs=24)

    assert supervisor.deaths >= len(CORPUS) - 1
    assert numbers(breakable) == (24, 0, 0)

    # A batch merges what those before it left, of which all may have been stored at once.
    breakable.start_worker()
    (books / "last.md").write_text("# The last\n\nAbout the end.\n")
    breakable.assert_recovered(submitted(breakable, books)["run_id"], jobs=1)
    assert breakable.value("SELECT count(*) FROM posting_segment") < 16
    assert breakable.value(CONSISTENT)


def test_a_failed_batch_leaves_the_others_searchable_a_retry_finishes_it_and_no_text_is_embedded_again(
    breakable: BreakableInstallation, books: Path
) -> None:
    worker = breakable.start_worker(include=BROKEN, TEST_BREAKS="second batch")
    run_id = submitted(breakable, books)["run_id"]
    assert breakable.wait_for(run_id) == {"failed": 1, "succeeded": 2}
    assert numbers(breakable) == (4, 2, 2)
    assert "RuntimeError" in breakable.ragq("show", f"r{run_id}").stdout
    worker.kill()

    breakable.start_worker()
    breakable.ragq("retry", f"r{run_id}")

    assert breakable.wait_for(run_id) == {"succeeded": 3}
    assert numbers(breakable) == (6, 0, 0)
    assert breakable.value(CONSISTENT)

    copied = submitted(breakable, books, "--corpus", "other")["run_id"]
    breakable.assert_recovered(copied, jobs=3)
    assert breakable.value(REUSED, copied) == 6
