"""Limits of calls that hold for several worker processes, and runs that stop at theirs."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

SIX = {316: 2, 319: 2, 330: 2}


class Watched:
    """Answers as `answer` does, and notes when each call began and how many were in progress."""

    def __init__(self, judge: ScriptedModel, *, call_s: float, refuse: Callable[[int], ScriptedReply | None]) -> None:
        self.began: list[float] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._call_s = call_s
        self._refuse = refuse
        judge.answer = self._answer

    def _answer(self, prompt: str) -> ScriptedReply:
        with self._lock:
            self.began.append(time.monotonic())
            number = len(self.began)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        time.sleep(self._call_s)
        with self._lock:
            self._at_once -= 1
        return self._refuse(number) or ScriptedReply()


def watch(
    judge: ScriptedModel, *, call_s: float = 0.0, refuse: Callable[[int], ScriptedReply | None] = lambda number: None
) -> Watched:
    return Watched(judge, call_s=call_s, refuse=refuse)


def permits(fresh: Installation) -> int:
    """How many are taken."""
    with redis.Redis.from_url(fresh.redis_url, decode_responses=True) as client:
        return sum(client.zcard(key) for key in client.scan_iter("ragq:llm:calls:*"))


def start_two_workers(fresh: Installation, *, concurrency: int = 8) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: fresh.start_worker(concurrency=concurrency), range(2)))


def test_two_workers_make_no_more_calls_at_a_time_than_the_limit(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    seen = watch(judge, call_s=0.3)
    fresh.settings["RAGQ_LLM_CONCURRENCY"] = "2"
    start_two_workers(fresh)
    run_id = fresh.submit(*evidence(SIX), *judged_by(judge.name))

    assert fresh.wait_for(run_id) == {"succeeded": 3}
    assert seen.most_at_once <= 2
    assert set(judge.calls_per_prompt.values()) == {1}
    assert permits(fresh) == 0
    assert fresh.ragq("audit", f"r{run_id}").exit_code == 0


@pytest.mark.long
def test_two_workers_begin_no_more_calls_a_minute_than_the_limit(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    seen = watch(judge)
    fresh.settings["RAGQ_LLM_RPM"] = "8"
    start_two_workers(fresh)
    run_id = fresh.submit(*evidence(SIX), *judged_by(judge.name))

    fresh.wait_until("SELECT count(*) > 0 FROM llm_wait WHERE reason = 'requests'")
    shown = fresh.ragq("show", f"r{run_id}").stdout
    assert "after other calls to" in shown
    assert "RAGQ_LLM_RPM permits no more a minute" in " ".join(shown.split())
    assert fresh.wait_for(run_id) == {"succeeded": 3}
    assert len(seen.began) > 8
    assert all(later - earlier > 60 for earlier, later in zip(seen.began, seen.began[8:], strict=False))
    assert set(judge.calls_per_prompt.values()) == {1}
    held = fresh.rows("SELECT attempts, retries, interruptions, status FROM stage_run")
    assert {(row["retries"], row["interruptions"], row["status"]) for row in held} == {(0, 0, "done")}
    assert fresh.ragq("audit", f"r{run_id}").exit_code == 0


def test_a_refusal_with_retry_after_holds_back_both_workers(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    refusal = ScriptedReply(status=429, text="slow down", retry_after="4")
    seen = watch(judge, call_s=0.05, refuse=lambda number: refusal if number == 3 else None)
    start_two_workers(fresh, concurrency=1)
    run_id = fresh.submit(*evidence(SIX), *judged_by(judge.name))

    fresh.wait_until("SELECT count(*) > 0 FROM llm_wait AS w JOIN stage_run AS s USING (job_id, stage)"
                     " WHERE s.status = 'ready' AND s.not_before = w.until")  # fmt: skip
    shown = " ".join(fresh.ragq("show", f"r{run_id}").stdout.split())
    assert "after a refusal of http://127.0.0.1:" in shown

    assert fresh.wait_for(run_id) == {"succeeded": 3}
    refused_at = seen.began[2]
    # One more call may have been on its way; then none until the time is over.
    assert all(not 0.3 < began - refused_at < 3.9 for began in seen.began)
    assert sorted(set(judge.calls_per_prompt.values())) == [1, 2]
    assert fresh.value("SELECT count(*) FROM stage_attempt WHERE outcome = 'failed'") == 0
    assert fresh.ragq("failures", f"r{run_id}", "--json").json["failures"] == []
    assert fresh.ragq("audit", f"r{run_id}").exit_code == 0


def test_the_permits_of_a_killed_worker_are_free_after_its_lease(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=120 if judge.calls <= 2 else 0)
    fresh.settings |= {"RAGQ_LLM_CONCURRENCY": "2", "RAGQ_LEASE_SECONDS": "2"}
    killed = fresh.start_worker()
    run_id = fresh.submit(*evidence(SIX), *judged_by(judge.name))
    eventually(lambda: (permits(fresh), judge.calls) == (2, 2))

    killed.kill()
    fresh.start_worker()

    assert fresh.wait_for(run_id) == {"succeeded": 3}
    assert permits(fresh) == 0
