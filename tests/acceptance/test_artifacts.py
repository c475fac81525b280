"""An exported and imported index gives the same results as the one that was built."""

import json
from typing import Any

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation

NAME = "huggingface_all_minilm_l6_v2_paper_train"


def retrieved(installation: Installation, *request: str) -> dict[str, Any]:
    """What a run of one participant gets from the index, by item."""
    run_id = installation.submit(*request, "--few-shot-only", "--set", "EMBEDDING_ENABLE_REFERENCE_VALIDATION=false")
    assert installation.wait_for(run_id) == {"succeeded": 1}
    (attempt,) = installation.inspect(run_id, "retrieve")
    items: dict[str, list[dict[str, Any]]] = attempt["output"]["items"]
    return {
        item: [{name: value for name, value in found.items() if name != "chunk_id"} for found in references]
        for item, references in items.items()
    }


def test_an_exported_index_finds_the_same_references_when_it_is_imported(
    fresh: Installation, evidence: GiveEvidence
) -> None:
    fresh.start_worker()
    request = evidence({316: 2})
    built = retrieved(fresh, *request)
    assert fresh.ragq("references", "export", NAME, "--directory", "out").exit_code == 0

    done = fresh.ragq("references", "import", f"out/{NAME}.npz", "--json")

    assert (done.exit_code, done.json["run_id"], done.stderr) == (0, None, "")
    assert fresh.value("SELECT count(*) FROM reference_index WHERE replaced_at IS NOT NULL") == 1
    assert retrieved(fresh, *request) == built


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
