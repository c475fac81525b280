"""Jobs are cancelled and paused while a stage is being computed."""

import itertools

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.harness import judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

ENDED = """
SELECT count(*) = $2 FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'validate' AND a.ended_at IS NOT NULL
"""


def test_what_is_computed_for_a_cancelled_job_ends_and_nothing_follows(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=60)
    breakable.start_worker()
    run_id = breakable.submit(*evidence({316: 1}), *judged_by(judge.name))
    eventually(lambda: judge.calls == 1)
    breakable.do("cancel", f"r{run_id}", "--note", "not now")
    breakable.wait_until(ENDED, run_id, 1)

    retried = breakable.ragq("retry", f"r{run_id}")

    assert (retried.exit_code, retried.stdout) == (1, "")
    assert f"No job of r{run_id} can be retried in its present state." in retried.stderr
    assert breakable.wait_for(run_id) == {"cancelled": 1}
    attempts = breakable.attempts(run_id)
    assert (attempts[0, "validate"], (0, "assemble") in attempts) == (["interrupted"], False)
    # The server of the language model is free for others.
    eventually(lambda: judge.abandoned == 1)
    breakable.do("audit", f"r{run_id}")


def test_a_paused_run_resumes_at_the_stage_where_it_was_paused_and_where_its_worker_died(
    breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    """One job ends its stage meanwhile; the worker dies before the other does."""
    numbers = itertools.count(1)
    judge.answer = lambda prompt: ScriptedReply(delay_s={1: 2, 2: 60}.get(next(numbers), 0))
    worker = breakable.start_worker()
    run_id = breakable.submit(*evidence({316: 1, 319: 1}), *judged_by(judge.name))
    eventually(lambda: judge.calls >= 2)
    breakable.do("pause", f"r{run_id}", "--note", "not now")
    breakable.wait_until(ENDED, run_id, 1)
    worker.kill()
    breakable.start_worker()
    breakable.wait_until(ENDED, run_id, 2)
    assert breakable.wait_for(run_id) == {"paused": 2}
    assert "assemble" not in {stage for _, stage in breakable.attempts(run_id)}

    breakable.do("resume", f"r{run_id}")

    attempts = breakable.assert_recovered(run_id, jobs=2)
    assert sorted(attempts[ordinal, "validate"] for ordinal in (0, 1)) == [["interrupted", "succeeded"], ["succeeded"]]
    calls = sorted(judge.calls_per_prompt.values())
    assert calls == [*[1] * (len(calls) - 1), 2]
