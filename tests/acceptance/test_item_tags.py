"""The item tag filter (Spec 34): a chunk is a reference only for the items it is tagged with."""

from typing import Any

from stages.participants.item_tags import tag_chunk
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel

TEXTS = "SELECT id, text FROM reference_chunk"


def untagged(installation: Installation, items: dict[str, list[dict[str, Any]]]) -> int:
    """Retrieved references whose text is not about their item."""
    texts = {row["id"]: row["text"] for row in installation.rows(TEXTS)}
    return sum(
        f"PHQ8_{item}" not in tag_chunk(texts[reference["chunk_id"]])
        for item, references in items.items()
        for reference in references
    )


def test_the_filter_keeps_chunks_about_the_item(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    work = (*evidence({316: 8}), *judged_by(judge.name))
    off = shared.submit(*work)
    on = shared.submit(*work, "--set", "EMBEDDING_ENABLE_ITEM_TAG_FILTER=true")
    assert [shared.wait_for(run_id) for run_id in (off, on)] == [{"succeeded": 1}] * 2

    retrieved = [shared.inspect(run_id, "retrieve")[0]["output"]["items"] for run_id in (off, on)]

    assert untagged(shared, retrieved[0]) > 0
    assert untagged(shared, retrieved[1]) == 0
    assert any(retrieved[1].values())

    # The index has nobody of the run's own split, so that the search leaves out every chunk that is not about the item.
    tags = [tag_chunk(row["text"]) for row in shared.rows(TEXTS)]
    items = shared.inspect(on, "embed")[0]["output"]["items"]
    dropped = shared.inspect(on, "rerank")[0]["output"]["dropped"]
    assert {item: dropped[item]["tags"] for item in items} == {
        item: sum(f"PHQ8_{item}" not in found for found in tags) for item in items
    }


def test_an_index_without_tags_is_refused_by_the_filter_and_serves_without_it(
    fresh: Installation, evidence: GiveEvidence
) -> None:
    fresh.start_worker()
    built = fresh.ragq("index", "references", "--split", "paper-train", "--no-write-item-tags")
    assert built.exit_code == 0, built.stderr
    work = (*evidence({316: 1}), "--few-shot-only", "--until", "retrieve")

    refused = fresh.ragq("submit", *work, "--set", "EMBEDDING_ENABLE_ITEM_TAG_FILTER=true")

    assert refused.exit_code == 1
    assert "EMBEDDING_ENABLE_ITEM_TAG_FILTER: not every chunk has tags" in refused.stderr
    assert fresh.value("SELECT count(*) FROM run WHERE request ->> 'write_item_tags' = 'false'") == 1
    assert fresh.wait_for(fresh.submit(*work)) == {"succeeded": 1}
    (index,) = fresh.ragq("index", "list", "--json").json
    assert fresh.ragq("references", "export", index["name"], "--directory", "out").exit_code == 0
    assert not list((fresh.folder / "out").glob("*.tags.json"))
