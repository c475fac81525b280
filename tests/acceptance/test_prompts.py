"""What a run puts into the scoring prompt, from real rows."""

from typing import Any, TypeAlias

import pytest

from schemas.values.participants import PHQ8Item
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedOllama

Outputs: TypeAlias = dict[tuple[str, str, str], Any]
"""What was stored, by subject, mode and stage."""


@pytest.fixture(scope="module")
def outputs(shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence) -> Outputs:
    """The outputs of every stage for participant 316, with two items of evidence, and 319, with none, in both modes."""
    judge = ("--set", f"MODEL_JUDGE_MODEL={ollama.model().name}")
    run_id = shared.submit(*evidence({316: 2, 319: 0}), *judge, "--set", "EMBEDDING_TOP_K_REFERENCES=2")
    assert shared.wait_for(run_id) == {"succeeded": 4}
    rows = shared.rows(
        "SELECT j.subject, j.mode, a.stage, a.output, "
        "(SELECT count(*) FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors "
        "FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1",
        run_id,
    )
    return {
        (row["subject"], row["mode"], row["stage"]): row["output"] | {"stored_vectors": row["vectors"]} for row in rows
    }


def test_few_shot_without_references_is_zero_shot_to_the_byte(outputs: Outputs) -> None:
    assert outputs["319", "few_shot", "assemble"] == outputs["319", "zero_shot", "assemble"]


def test_the_reference_block_is_exact_to_the_byte(shared: Installation, outputs: Outputs) -> None:
    kept = outputs["316", "few_shot", "validate"]["items"]
    texts = {row["id"]: row["text"] for row in shared.rows("SELECT id, text FROM reference_chunk")}
    labels = {row["id"]: row["items"] for row in shared.rows("SELECT id, items FROM participant")}
    entries = [
        f"({key} Score: {labels[reference['participant_id']][key]})\n{texts[reference['chunk_id']]}\n\n"
        for key in ("PHQ8_NoInterest", "PHQ8_Depressed")
        for reference in kept[key.removeprefix("PHQ8_")]
    ]

    assert len(entries) == 4
    assert outputs["316", "few_shot", "assemble"]["block"] == (
        "<Reference Examples>\n\n" + "".join(entries) + "</Reference Examples>"
    )


def test_nobody_is_their_own_reference(shared: Installation, ollama: ScriptedOllama, evidence: GiveEvidence) -> None:
    run_id = shared.submit(*evidence({304: 8}), *judged_by(ollama.model().name), "--allow-overlap")

    assert shared.wait_for(run_id) == {"succeeded": 1}
    items = shared.inspect(run_id, "retrieve")[0]["output"]["items"]
    found = {reference["participant_id"] for item in PHQ8Item for reference in items[item]}
    assert found == {313, 321}
