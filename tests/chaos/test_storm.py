"""Random faults during work. `RAGQ_CHAOS_SECONDS=600 RAGQ_CHAOS_SEED=7 pytest tests/chaos` makes a long one."""

import os
import time

from schemas.chains import STAGES
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation, Servers, eventually
from tests.acceptance.small_data_set import TEST, TRAIN
from tests.chaos.monkey import Monkey
from workers import broker
from workers.app import KEY_PREFIX

STORM_S = float(os.environ.get("RAGQ_CHAOS_SECONDS", "20"))
SEED = int(os.environ.get("RAGQ_CHAOS_SEED", "1"))
RUNS_PER_ACT = 3
DRAIN_S = 90.0

UNCHECKED = ("--set", "EMBEDDING_ENABLE_REFERENCE_VALIDATION=false")

EFFECTS = """
SELECT s.job_id, s.stage, s.status, count(a.id) FILTER (WHERE a.outcome = 'succeeded') AS outputs,
       count(a.id) FILTER (WHERE a.outcome NOT IN ('succeeded', 'interrupted')) AS others
FROM stage_run AS s LEFT JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage
GROUP BY s.job_id, s.stage
"""


def test_random_faults_lose_nothing_and_repeat_nothing(
    breakable: BreakableInstallation, servers: Servers, evidence: GiveEvidence
) -> None:
    breakable.settings["RAGQ_MAX_INTERRUPTIONS"] = "1000"
    # One of the index is not assessed, so that references are left.
    people = (*TRAIN[1:], *TEST)
    chosen = (*evidence(dict.fromkeys(people, 3)), "--allow-overlap")
    run_ids: list[int] = []
    deepest = 0
    with breakable.supervised(workers=2) as workers:
        monkey = Monkey(breakable, servers, workers, SEED)
        end = time.monotonic() + STORM_S
        while time.monotonic() < end:
            run_ids += [breakable.submit(*chosen, *UNCHECKED, "--new") for _ in range(RUNS_PER_ACT)]
            monkey.act()
            deepest = max(deepest, messages(breakable))
            assert_states_add_up(breakable, run_ids, jobs=2 * len(people))
        print(f"seed {SEED}: {workers.deaths} deaths, {deepest} messages at most, {monkey.done}")
        eventually(lambda: is_idle(breakable), timeout_s=DRAIN_S)
        eventually(lambda: messages(breakable) == 0, timeout_s=DRAIN_S)

    jobs = breakable.value("SELECT count(*) FROM job WHERE run_id = ANY($1::bigint[])", run_ids)
    assert deepest <= 4 * jobs
    effects = {(row["status"], row["outputs"], row["others"]) for row in breakable.rows(EFFECTS)}
    assert effects == {("done", 1, 0)}
    assert [breakable.ragq("audit", f"r{run_id}").exit_code for run_id in run_ids] == [0] * len(run_ids)


def messages(installation: BreakableInstallation) -> int:
    """The number of messages in all queues."""
    depths = broker.depths(installation.redis_url, KEY_PREFIX, STAGES)
    assert depths is not None
    return sum(depths.waiting.values())


def is_idle(installation: BreakableInstallation) -> bool:
    """Every job has succeeded."""
    found: bool = installation.value("SELECT bool_and(status = 'succeeded') FROM job")
    return found


def assert_states_add_up(installation: BreakableInstallation, run_ids: list[int], *, jobs: int) -> None:
    """Every job of every run is in exactly one state that `ragq runs` counts."""
    counted = {run["id"]: sum(run["states"].values()) for run in installation.ragq("runs", "--json").json}
    assert {run_id: counted[run_id] for run_id in run_ids[-20:]} == dict.fromkeys(run_ids[-20:], jobs)
