"""The item tag filter (Spec 34): a chunk is a reference only for the items it is tagged with."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation


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
