"""Documents become works although workers are killed, and although other documents are made to harm."""

import re
from pathlib import Path
from typing import Any

import pytest

from schemas.chains import stages_of
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.fault_tolerance.test_corpora import CONSISTENT
from tests.hostile_documents import hostile_documents

WORK = stages_of("work", "document")
JOBS = """
SELECT j.inputs ->> 'name' AS name, j.status, e.type AS kind, e.message
FROM job AS j LEFT JOIN LATERAL (
    SELECT a.error_type AS type, a.error_message AS message FROM stage_attempt AS a
    WHERE a.job_id = j.id AND a.outcome = 'failed'
) AS e ON true
WHERE j.run_id = $1
"""
PAGE = """<!DOCTYPE html><html><body><h1>{name}</h1><p>About {name} in one sentence.</p>
<h2>References</h2><p>A book about {name}.</p></body></html>"""


def imported(installation: BreakableInstallation, folder: Path) -> Any:
    """What the import of the documents of a folder prints."""
    done = installation.ragq("import", "works", str(folder), "--corpus", "small", "--json")
    assert done.exit_code == (1 if done.json["refused"] else 0), done.stderr
    return done.json


def number_of(printed: Any) -> int:
    """The run of the documents."""
    return int(printed["documents_run_id"])


def test_a_worker_killed_in_every_stage_of_a_document_loses_and_repeats_nothing(
    breakable: BreakableInstallation, tmp_path: Path
) -> None:
    """It is imported again when it changed, and what was made of it is deleted with its runs and its corpus."""
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "tea.html").write_text(PAGE.format(name="tea"))

    with breakable.supervised(RAGQ_CRASH_AT="before_commit#1") as supervisor:
        run_id = number_of(imported(breakable, folder))
        attempts = breakable.assert_recovered(run_id, jobs=1)

    assert supervisor.deaths >= len(WORK) - 1
    assert {stage for _, stage in attempts} == set(WORK)
    assert {outcomes[0] for outcomes in attempts.values()} == {"interrupted"}
    assert breakable.value("SELECT count(*) FROM works") == 1
    assert breakable.value("SELECT count(*) FROM original") == 1
    # Sections of references are kept and not embedded.
    assert breakable.value("SELECT count(*) FROM chunks WHERE vector_status = 'vec'") == 1
    assert breakable.value(CONSISTENT)

    again = imported(breakable, folder)
    assert (again["documents_run_id"], again["unchanged_documents"]) == (None, 1)
    (folder / "tea.html").write_text(PAGE.format(name="coffee"))
    breakable.start_worker()
    changed_id = number_of(imported(breakable, folder))
    breakable.assert_recovered(changed_id, jobs=1)
    assert breakable.value("SELECT count(*) FROM works") == 1
    assert breakable.value("SELECT count(*) FROM chunks WHERE content LIKE 'About coffee%'") == 1
    for one in (run_id, changed_id):
        breakable.do("purge", "--run", f"r{one}", "--yes")
    assert breakable.value("SELECT count(*) FROM original") == 1
    breakable.do("corpus", "delete", "small", "--yes")
    assert breakable.value("SELECT count(*) FROM original") == 0


@pytest.mark.timeout(1200)
def test_a_hundred_hostile_documents_fail_alone_and_lose_no_other(
    breakable: BreakableInstallation, tmp_path: Path
) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    made = hostile_documents()
    assert len(made) >= 100
    for one in made:
        (folder / one.name).write_bytes(one.content)
    worker = breakable.start_worker(
        RAGQ_DOCUMENT_SECONDS="60", RAGQ_DOCUMENT_MEMORY_MB="300", RAGQ_DOCUMENT_OUTPUT_MB="4"
    )
    printed = imported(breakable, folder)
    run_id = number_of(printed)
    breakable.wait_for(run_id)

    jobs = {Path(row["name"]).name: row for row in breakable.rows(JOBS, run_id)}
    at_once = dict(said.removeprefix(f"{folder}/").split(": ", 1) for said in printed["refused"])
    assert worker.is_alive
    assert sorted([*jobs, *at_once]) == sorted(one.name for one in made)
    wrong = {}
    for one in made:
        job = jobs.get(one.name, {"status": "failed", "kind": ".DocumentError", "message": at_once.get(one.name)})
        is_read = job["status"] == "succeeded"
        is_refused = job["status"] == "failed" and job["kind"].endswith(".DocumentError")
        expected = is_read if one.error is None else is_refused if one.error else is_read or is_refused
        if not expected or (one.error and not re.search(one.error, job["message"])):
            wrong[one.name] = (job["status"], job["kind"], job["message"])
    assert wrong == {}
    assert breakable.value("SELECT count(*) FROM works") == sum(row["status"] == "succeeded" for row in jobs.values())
    assert not breakable.value("SELECT EXISTS (SELECT FROM chunks WHERE content LIKE '%root:%')")
    assert breakable.value("SELECT count(*) = 0 FROM stage_attempt WHERE outcome = 'interrupted'")
    assert breakable.value(CONSISTENT)
    assert not Path("/tmp/ragq-outside").exists()
