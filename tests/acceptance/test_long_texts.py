"""Chunks that are longer than the embedder reads: refused with what to do, or cut and counted."""

from tests.acceptance.harness import Installation

BUILD = (
    *("index", "references", "--split", "paper-train"),
    *("--set", "EMBEDDING_CHUNK_SIZE=20", "--set", "EMBEDDING_EMBEDDINGS_FILE=long_windows"),
)


def test_chunks_that_are_too_long_are_cut_and_counted_or_refused_with_the_remedy_that_builds_the_index(
    fresh: Installation,
) -> None:
    fresh.start_worker()

    refused = fresh.ragq(*BUILD, "--set", "RAGQ_LONG_TEXTS=refuse")

    assert refused.exit_code == 1
    run_id = fresh.value("SELECT max(id) FROM run")
    (failure, *_) = fresh.ragq("failures", f"r{run_id}", "--json").json["failures"]
    assert (failure["category"], failure["stage"]) == ("embedding_text_too_long", "embed")
    assert "is longer than 'all-minilm-l6-v2' reads (256 tokens), and nothing was cut." in failure["message"]
    assert "Set RAGQ_LONG_TEXTS=truncate" in failure["message"]

    # The profile of these tests is demo, whose default the remedy is.
    built = fresh.ragq(*BUILD, "--json")

    assert built.exit_code == 0
    cut = fresh.value(
        "SELECT sum((a.output ->> 'cut_texts')::integer)::integer FROM stage_attempt AS a JOIN job AS j "
        "ON j.id = a.job_id WHERE j.run_id = $1 AND a.stage = 'embed'",
        run_id + 1,
    )
    assert cut > 0
    assert f"cut at the length that the embedder reads: {cut} texts" in fresh.ragq("show", f"r{run_id + 1}").stdout
    searching = fresh.ragq("submit", "--participants", "316", "--few-shot-only", *BUILD[-4:], "--dry-run")
    assert f"{cut} of the " in searching.stdout
