"""Real workers build a reference index completely or not at all."""

from pathlib import Path

from tests.acceptance.harness import Installation
from tests.acceptance.small_data_set import small_files, transcript_file, write_files

BUILD = ("index", "references", "--split", "paper-train", "--json")
NAME = "huggingface_all_minilm_l6_v2_paper_train"


def listed(installation: Installation) -> dict[str, int]:
    """The run that built each index that can be searched."""
    return {index["name"]: index["run_id"] for index in installation.ragq("index", "list", "--json").json}


def test_while_a_participant_fails_the_older_index_is_searched_and_a_retry_replaces_it(
    fresh: Installation, data_directory: Path, tmp_path: Path
) -> None:
    before = listed(fresh)
    run_id = int(fresh.ragq(*BUILD, "--new", "--no-wait").json["run"].removeprefix("r"))
    shorter = small_files()[transcript_file(313)].rsplit(b"\n", 3)[0] + b"\n"
    write_files(tmp_path, {**small_files(), transcript_file(313): shorter})
    name = data_directory.name
    fresh.ragq("import", "participants", str(tmp_path), "--name", name, "--replace")
    fresh.start_worker()

    assert fresh.wait_for(run_id) == {"failed": 1, "succeeded": 2}
    assert listed(fresh) == before
    assert "was replaced by another import" in fresh.ragq("show", f"r{run_id}").stdout

    fresh.ragq("import", "participants", str(data_directory), "--replace")
    fresh.ragq("retry", f"r{run_id}")

    assert fresh.wait_for(run_id) == {"succeeded": 3}
    assert listed(fresh) == {NAME: run_id}
    assert fresh.value("SELECT chunks FROM reference_index WHERE run_id = $1", run_id) == 81
