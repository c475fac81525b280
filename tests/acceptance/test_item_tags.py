"""The item tag filter (Spec 34): a chunk is a reference only for the items it is tagged with."""

from typing import Any

from stages.participants.item_tags import tag_chunk
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel

TEXTS = "SELECT id, text FROM reference_chunk"


def untagged(installation: Installation, items: dict[str, list[dict[str, Any]]]) -> int:
    """Retrieved references whose text does not speak of their item."""
    texts = {row["id"]: row["text"] for row in installation.rows(TEXTS)}
    return sum(
        f"PHQ8_{item}" not in tag_chunk(texts[reference["chunk_id"]])
        for item, references in items.items()
        for reference in references
    )


def test_the_filter_keeps_chunks_that_speak_of_the_item(
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
