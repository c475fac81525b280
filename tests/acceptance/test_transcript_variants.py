"""The variant of transcripts, from their import to the runs that refuse an index of another one."""

from pathlib import Path

from tests.acceptance.harness import Finished, Installation

NAME = "huggingface_all_minilm_l6_v2_paper_train"
SUBMIT = ("submit", "--split", "paper-test", "--few-shot-only", "--until", "retrieve", "--json")


def variants_of(installation: Installation, done: Finished) -> dict[str, object]:
    """What the run of a submission records of variants."""
    assert done.exit_code == 0, done.stderr
    found: dict[str, object] = installation.value(
        "SELECT request -> 'variants' FROM run WHERE id = $1", done.json["run_id"]
    )
    return found


def test_an_index_of_another_variant_is_refused_until_one_of_the_same_is_built(
    fresh: Installation, data_directory: Path
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
        f"`ragq import participants DIR --name {name} --replace` imports the transcripts in the variant of the index; "
        f"`ragq index references --split {name}/paper-train` builds an index from those that are stored.\n"
    )

    assert fresh.ragq("index", "references", "--split", "paper-train").exit_code == 0
    done = fresh.ragq(*SUBMIT)
    assert variants_of(fresh, done) == {"transcripts": {"participant_only": 3}, "index": "participant_only"}
    listed = fresh.ragq("index", "list", "--json").json
    assert [(index["name"], index["variant"]) for index in listed] == [
        (NAME, "raw"),
        (f"{NAME}_participant_only", "participant_only"),
    ]
    assert len({index["identity"] for index in listed}) == 2
    assert "participant_only" in fresh.ragq("index", "list").stdout
