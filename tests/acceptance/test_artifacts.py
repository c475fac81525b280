"""An imported index is searched by the model that built it alone."""

import json

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation

NAME = "huggingface_all_minilm_l6_v2_paper_train"


def test_an_index_of_other_weights_fails_the_runs_that_use_it(fresh: Installation, evidence: GiveEvidence) -> None:
    fresh.ragq("references", "export", NAME, "--directory", "out")
    path = fresh.folder / "out" / f"{NAME}.meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_digest": "0" * 64}))
    fresh.ragq("references", "import", f"out/{NAME}.npz")
    fresh.start_worker()

    run_id = fresh.submit(*evidence({316: 1}), "--few-shot-only")

    assert fresh.wait_for(run_id) == {"failed": 1}
    (attempt,) = fresh.inspect(run_id, "embed")
    assert attempt["error"]["type"] == "schemas.errors.EmbeddingArtifactMismatchError"
