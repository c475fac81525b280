"""The chain runs on Celery's own pools too. With prefork a child builds what it needs after the fork."""

import psutil

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.scripted_ollama import ScriptedModel

WORKED = """
SELECT DISTINCT w.pid FROM stage_attempt AS a
JOIN worker AS w ON w.id = a.worker_id JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1
"""


def test_a_prefork_worker_runs_the_whole_chain(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    worker = fresh.start_worker(pool="processes", concurrency=2)
    children = {child.pid for child in psutil.Process(worker.pid).children()}
    run_id = fresh.submit(*evidence({316: 1, 319: 1}), *judged_by(judge.name))

    assert fresh.wait_for(run_id) == {"succeeded": 2}
    assert {row["pid"] for row in fresh.rows(WORKED, run_id)} <= children
    worker.stop()
    assert "Traceback" not in worker.output
