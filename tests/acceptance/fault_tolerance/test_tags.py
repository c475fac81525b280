"""Workers of phrases are killed at any point: another continues, and nothing is stored twice."""

from pathlib import Path

from schemas.chains import stages_of
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.wardrobe import write_wardrobe

CANDIDATES = stages_of("tags", "candidates")

PUBLISHED = "SELECT count(*) FROM vocabulary WHERE indexed_at IS NOT NULL"


def test_a_worker_killed_in_every_stage_of_phrases_and_vocabulary_loses_nothing(
    breakable: BreakableInstallation, tmp_path: Path
) -> None:
    assert breakable.ragq("import", "tags", str(write_wardrobe(tmp_path / "wardrobe"))).exit_code == 0
    (tmp_path / "phrases.txt").write_text("overcoat, tees\n")
    by = ("--phrases", str(tmp_path / "phrases.txt"), "--vocabulary", "wardrobe", "--until", "validate")

    with breakable.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        built = breakable.ragq("index", "tags", "wardrobe", "--no-wait", "--json").json["run_id"]
        building = breakable.assert_recovered(built, jobs=1)
        run_id = breakable.submit(*by)
        attempts = breakable.assert_recovered(run_id, jobs=1)
        # The last message of a chain may still be queued when its run is idle.
        deaths = supervisor.deaths

    assert building[0, "embed"][0] == "interrupted"
    assert breakable.value(PUBLISHED) == 1
    assert deaths >= len(CANDIDATES)
    assert {stage: outcomes[0] for (_, stage), outcomes in attempts.items()} == dict.fromkeys(CANDIDATES, "interrupted")
    (found,) = breakable.ragq("tags", "show", f"r{run_id}", "--json").json["sets"]
    assert {candidate["tag"] for candidate in found["result"]} == {"coat", "shirt"}
