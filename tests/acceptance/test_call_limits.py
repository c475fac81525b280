"""Limits of calls that hold for several worker processes, whoever is killed."""

import threading
import time

import redis

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

SIX = {316: 2, 319: 2, 330: 2}
HELD = (
    "SELECT count(*) > 0 FROM llm_wait AS w JOIN stage_run AS s USING (job_id, stage)"
    " WHERE s.status = 'ready' AND s.not_before = w.until"
)


def permits(fresh: Installation) -> int:
    """How many are taken."""
    with redis.Redis.from_url(fresh.redis_url, decode_responses=True) as client:
        return sum(client.zcard(key) for key in client.scan_iter("ragq:llm:calls:*"))


def test_two_workers_keep_a_limit_and_wait_after_a_refusal_and_the_permits_of_a_killed_one_are_free(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=120)
    fresh.settings |= {"RAGQ_LLM_CONCURRENCY": "2", "RAGQ_LEASE_SECONDS": "2"}
    killed = fresh.start_worker()
    run_id = fresh.submit(*evidence(SIX), *judged_by(judge.name))
    eventually(lambda: (permits(fresh), judge.calls) == (2, 2))
    killed.kill()
    began: list[float] = []
    at_once: list[int] = [0]
    lock = threading.Lock()

    def answer(prompt: str) -> ScriptedReply:
        with lock:
            began.append(time.monotonic())
            number = len(began)
            at_once.append(at_once[-1] + 1)
        time.sleep(0.2)
        with lock:
            at_once.append(at_once[-1] - 1)
        return ScriptedReply(status=429, text="slow down", retry_after="4") if number == 3 else ScriptedReply()

    judge.answer = answer
    for _ in range(2):
        fresh.start_worker()
    fresh.wait_until(HELD)
    shown = " ".join(fresh.ragq("show", f"r{run_id}").stdout.split())
    assert f"after a refusal of http://127.0.0.1:{fresh.ollama_port}" in shown

    assert fresh.wait_for(run_id) == {"succeeded": 3}
    # One more call may have been on its way; then none until the time is over.
    assert all(not 0.5 < one - began[2] < 3.9 for one in began)
    assert (max(at_once), permits(fresh)) == (2, 0)
    # Besides the refused one, only the calls that were open when the worker was killed are made again.
    assert sum(judge.calls_per_prompt.values()) - len(judge.calls_per_prompt) == 3
    assert fresh.value("SELECT count(*) FROM stage_attempt WHERE outcome = 'failed'") == 0
    failures = fresh.ragq("failures", f"r{run_id}", "--json").json["failures"]
    assert {failure["category"] for failure in failures} == {"worker_lost"}
    fresh.do("audit", f"r{run_id}")
