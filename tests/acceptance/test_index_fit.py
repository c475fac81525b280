"""Which runs an index serves: those of its variant of transcripts, with the tags that they ask for, of its weights."""

from pathlib import Path
from typing import Any

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Finished, Installation

NAME = "huggingface_all_minilm_l6_v2_paper_train"
SUBMIT = ("submit", "--split", "paper-test", "--few-shot-only", "--until", "retrieve", "--json")


def variants_of(installation: Installation, done: Finished) -> Any:
    """What the run of a submission records of variants."""
    assert done.exit_code == 0, done.stderr
    return installation.value("SELECT request -> 'variants' FROM run WHERE id = $1", done.json["run_id"])


def test_an_index_serves_no_run_of_another_variant_without_its_tags_or_of_other_weights(
    fresh: Installation, data_directory: Path, evidence: GiveEvidence
) -> None:
    fresh.start_worker()
    assert variants_of(fresh, fresh.ragq(*SUBMIT)) == {"transcripts": {"raw": 3}, "index": "raw"}
    other = ("import", "participants", str(data_directory), "--variant", "participant_only")
    assert fresh.ragq(*other).exit_code == 1
    imported = fresh.ragq(*other, "--replace")
    assert "  transcript variant participant_only (6)\n" in imported.stdout

    refused = fresh.ragq(*SUBMIT)
    assert (refused.exit_code, refused.json["type"]) == (1, "urn:ragq:problem:index-mismatch")
    name = data_directory.name
    assert refused.stderr == (
        f"ragq: Reference index '{NAME}' does not fit the settings of this run:\n"
        "  transcripts: the index was built from variant raw, those of the run are participant_only (3)\n"
        f"  `ragq import participants DIR --name {name} --replace` imports the transcripts in the variant of the "
        "index; "
        f"`ragq index references --split {name}/paper-train --wait` builds an index from those that are stored\n"
    )

    fresh.do("index", "references", "--split", "paper-train", "--wait")
    done = fresh.ragq(*SUBMIT)
    assert variants_of(fresh, done) == {"transcripts": {"participant_only": 3}, "index": "participant_only"}
    listed = fresh.ragq("index", "list", "--json").json["items"]
    assert [(index["name"], index["variant"]) for index in listed] == [
        (NAME, "raw"),
        (f"{NAME}_participant_only", "participant_only"),
    ]
    assert len({index["identity"] for index in listed}) == 2
    assert "participant_only" in fresh.ragq("index", "list").stdout

    fresh.rows("UPDATE reference_chunk SET tags = NULL RETURNING id")
    work = (*evidence({316: 1}), "--few-shot-only", "--until", "retrieve")
    refused = fresh.ragq("submit", *work, "--set", "EMBEDDING_ENABLE_ITEM_TAG_FILTER=true")
    assert refused.exit_code == 1
    assert "EMBEDDING_ENABLE_ITEM_TAG_FILTER: not every chunk has tags" in refused.stderr
    assert fresh.wait_for(fresh.submit(*work)) == {"succeeded": 1}

    fresh.rows("UPDATE reference_index SET model_digest = repeat('0', 64)")
    failed = fresh.submit(*work, "--new")
    assert fresh.wait_for(failed) == {"failed": 1}
    (attempt,) = fresh.inspect(failed, "embed")
    assert attempt["error"]["type"] == "schemas.errors.EmbeddingArtifactMismatchError"
