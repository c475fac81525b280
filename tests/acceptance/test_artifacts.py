"""An index is searched by the model that built it alone."""

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation


def test_an_index_of_other_weights_fails_the_runs_that_use_it(fresh: Installation, evidence: GiveEvidence) -> None:
    fresh.value("UPDATE reference_index SET model_digest = repeat('0', 64) RETURNING id")
    fresh.start_worker()

    run_id = fresh.submit(*evidence({316: 1}), "--few-shot-only")

    assert fresh.wait_for(run_id) == {"failed": 1}
    (attempt,) = fresh.inspect(run_id, "embed")
    assert attempt["error"]["type"] == "schemas.errors.EmbeddingArtifactMismatchError"
