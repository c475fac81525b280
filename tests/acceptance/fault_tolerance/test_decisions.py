"""Jobs are cancelled and paused while a stage is being computed."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation
from tests.acceptance.harness import StartedProcess, judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

Decide: TypeAlias = Callable[[str, float], tuple[int, StartedProcess]]

ENDED = """
SELECT EXISTS (SELECT FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.stage = 'validate' AND a.ended_at IS NOT NULL)
"""


@pytest.fixture
def decide_in_mid_stage(breakable: BreakableInstallation, judge: ScriptedModel, evidence: GiveEvidence) -> Decide:
    """Runs `ragq VERB RUN` while a worker waits so long for its first verdict. The run's number, and the worker."""

    def decide(verb: str, delay_s: float) -> tuple[int, StartedProcess]:
        judge.answer = lambda prompt: ScriptedReply(delay_s=delay_s if judge.calls == 1 else 0)
        worker = breakable.start_worker()
        run_id = breakable.submit(*evidence({316: 1}), *judged_by(judge.name))
        eventually(lambda: judge.calls == 1)
        assert breakable.ragq(verb, f"r{run_id}", "--note", "not now").exit_code == 0
        return run_id, worker

    return decide


def test_what_is_computed_for_a_cancelled_job_ends_and_nothing_follows(
    breakable: BreakableInstallation, judge: ScriptedModel, decide_in_mid_stage: Decide
) -> None:
    run_id, _ = decide_in_mid_stage("cancel", 60)
    breakable.wait_until(ENDED, run_id)

    retried = breakable.ragq("retry", f"r{run_id}")

    assert (retried.exit_code, retried.stdout) == (1, "")
    assert f"No job of r{run_id} can be retried in its present state." in retried.stderr
    assert breakable.wait_for(run_id) == {"cancelled": 1}
    attempts = breakable.attempts(run_id)
    assert (attempts[0, "validate"], (0, "assemble") in attempts) == (["interrupted"], False)
    # The server of the language model is free for others.
    eventually(lambda: judge.abandoned == 1)
    assert breakable.ragq("audit", f"r{run_id}").exit_code == 0


def test_a_paused_job_resumes_at_the_stage_where_it_was_paused(
    breakable: BreakableInstallation, judge: ScriptedModel, decide_in_mid_stage: Decide
) -> None:
    run_id, _ = decide_in_mid_stage("pause", 1)
    breakable.wait_until(ENDED, run_id)
    assert breakable.wait_for(run_id) == {"paused": 1}
    assert (0, "assemble") not in breakable.attempts(run_id)

    assert breakable.ragq("resume", f"r{run_id}").exit_code == 0

    attempts = breakable.assert_recovered(run_id, jobs=1)
    assert set(map(tuple, attempts.values())) == {("succeeded",)}
    assert set(judge.calls_per_prompt.values()) == {1}


def test_a_job_paused_when_its_worker_dies_waits_and_then_resumes(
    breakable: BreakableInstallation, decide_in_mid_stage: Decide
) -> None:
    run_id, worker = decide_in_mid_stage("pause", 60)
    worker.kill()
    breakable.start_worker()
    breakable.wait_until(ENDED, run_id)
    assert breakable.attempts(run_id)[0, "validate"] == ["interrupted"]
    assert breakable.wait_for(run_id) == {"paused": 1}

    assert breakable.ragq("resume", f"r{run_id}").exit_code == 0

    assert breakable.assert_recovered(run_id, jobs=1)[0, "validate"] == ["interrupted", "succeeded"]
