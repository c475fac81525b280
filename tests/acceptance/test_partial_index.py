"""Indexes that lack participants: only where that is allowed, and always reported."""

from pathlib import Path
from typing import Any

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation
from tests.acceptance.small_data_set import small_files, transcript_file, write_files

BUILD = ("index", "references", "--split", "paper-train")


def the_index(installation: Installation, *, min_chars: int = 8) -> dict[str, Any]:
    listed = installation.ragq("index", "list", "--json").json
    (index,) = (index for index in listed if index["min_evidence_chars"] == min_chars)
    found: dict[str, Any] = index
    return found


def import_313(installation: Installation, folder: Path, *, lines: int) -> None:
    """Import the small data set again, with this number of lines of participant 313."""
    cut = b"".join(small_files()[transcript_file(313)].splitlines(keepends=True)[: lines + 1])
    files = write_files(folder / f"cut to {lines}", {**small_files(), transcript_file(313): cut})
    name = installation.value("SELECT min(data_set) FROM participant")
    assert installation.ragq("import", "participants", str(files), "--name", name, "--replace").exit_code == 0


def test_when_the_last_participant_fails_the_index_is_published_without_them_and_a_retry_completes_it(
    fresh: Installation, tmp_path: Path, data_directory: Path, evidence: GiveEvidence
) -> None:
    run_id = int(fresh.ragq(*BUILD, "--new", "--allow-partial", "--no-wait", "--json").json["run"].removeprefix("r"))
    job_id = fresh.value("SELECT id FROM job WHERE run_id = $1 AND subject = '313'", run_id)
    fresh.ragq("pause", f"j{job_id}")
    import_313(fresh, tmp_path, lines=50)
    fresh.start_worker()
    fresh.wait_until("SELECT count(*) = 2 FROM job WHERE run_id = $1 AND status = 'succeeded'", run_id)
    assert the_index(fresh)["run_id"] != run_id

    fresh.ragq("resume", f"j{job_id}")
    watched = fresh.ragq("watch", f"r{run_id}")

    assert watched.exit_code == 3
    partial = the_index(fresh)
    assert (partial["run_id"], partial["participants"]) == (run_id, 2)
    assert partial["partial"]["skipped_participants"] == [313]
    assert fresh.ragq("audit", f"r{run_id}").exit_code == 0
    search = fresh.submit(*evidence({316: 1}), "--few-shot-only", "--until", "retrieve")
    assert fresh.wait_for(search) == {"succeeded": 1}
    assert "The reference index lacks participant 313." in fresh.ragq("show", f"r{search}").stdout

    fresh.ragq("import", "participants", str(data_directory), "--replace")
    assert fresh.ragq("retry", f"r{run_id}").exit_code == 0

    assert fresh.wait_for(run_id) == {"succeeded": 3}
    whole = the_index(fresh)
    assert (whole["run_id"], whole["participants"], whole["chunks"], whole["partial"]) == (run_id, 3, 81, None)
    found = fresh.rows("SELECT chunks, replaced_at FROM reference_index WHERE id = $1", partial["id"])
    assert (found[0]["chunks"], found[0]["replaced_at"] is not None) == (partial["chunks"], True)
