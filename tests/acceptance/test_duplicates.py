"""Of overlapping references a setting keeps only the best."""

from itertools import combinations

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel

MANY = ("--set", "EMBEDDING_TOP_K_REFERENCES=10")


def neighbours(ranked: dict[str, list[dict[str, int]]]) -> int:
    """Pairs of kept references of one item whose windows share 6 of 8 lines."""
    return sum(
        one["participant_id"] == other["participant_id"] and abs(one["ordinal"] - other["ordinal"]) == 1
        for references in ranked.values()
        for one, other in combinations(references, 2)
    )


def test_an_overlapping_reference_is_replaced_by_the_next(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    work = (*evidence({316: 4}), *judged_by(judge.name), *MANY)
    all_run = shared.submit(*work)
    distinct_run = shared.submit(*work, "--set", "RAGQ_DEDUPLICATE_REFERENCES=true")
    assert [shared.wait_for(run_id) for run_id in (all_run, distinct_run)] == [{"succeeded": 1}] * 2

    (everything,) = (attempt["output"] for attempt in shared.inspect(all_run, "rerank"))
    (distinct,) = (attempt["output"] for attempt in shared.inspect(distinct_run, "rerank"))

    assert neighbours(everything["items"]) > 0
    assert neighbours(distinct["items"]) == 0
    assert all("duplicate" not in dropped for dropped in everything["dropped"].values())
    assert sum(dropped.get("duplicate", 0) for dropped in distinct["dropped"].values()) > 0
