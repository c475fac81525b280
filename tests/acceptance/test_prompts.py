"""What a run puts into the scoring prompt, from real rows."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation
from tests.scripted_ollama import ScriptedModel

OUTPUTS = """
SELECT j.subject, j.mode, a.stage, a.output,
    (SELECT count(*) FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1
"""


def test_the_reference_block_is_exact_to_the_byte_and_without_references_few_shot_is_zero_shot(
    shared: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    """Participant 316 has two items of evidence, 319 has none."""
    options = ("--set", f"MODEL_JUDGE_MODEL={judge.name}", "--set", "EMBEDDING_TOP_K_REFERENCES=2")
    run_id = shared.submit(*evidence({316: 2, 319: 0}), *options)
    assert shared.wait_for(run_id) == {"succeeded": 4}
    stored = {
        (row["subject"], row["mode"], row["stage"]): row["output"] | {"stored_vectors": row["vectors"]}
        for row in shared.rows(OUTPUTS, run_id)
    }
    kept = stored["316", "few_shot", "validate"]["items"]
    texts = {row["id"]: row["text"] for row in shared.rows("SELECT id, text FROM reference_chunk")}
    labels = {row["id"]: row["items"] for row in shared.rows("SELECT id, items FROM participant")}
    entries = [
        f"({key} Score: {labels[reference['participant_id']][key]})\n{texts[reference['chunk_id']]}\n\n"
        for key in ("PHQ8_NoInterest", "PHQ8_Depressed")
        for reference in kept[key.removeprefix("PHQ8_")]
    ]

    assert len(entries) == 4
    assert stored["316", "few_shot", "assemble"]["block"] == (
        "<Reference Examples>\n\n" + "".join(entries) + "</Reference Examples>"
    )
    assert stored["319", "few_shot", "assemble"] == stored["319", "zero_shot", "assemble"]
