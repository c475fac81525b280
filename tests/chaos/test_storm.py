"""Random faults during work: seconds by default, two minutes in CI, an hour with `make chaos`."""

import os
import time
from collections import defaultdict
from contextlib import closing
from statistics import median

import pytest

from schemas.chains import QUEUES
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import UNCHECKED, BreakableInstallation, Servers
from tests.acceptance.small_data_set import TEST, TRAIN
from tests.chaos.invariants import NEXT_OUTPUT, violations
from tests.chaos.monkey import Fault, Monkey
from tests.eventually import eventually
from workers.app import make_app
from workers.turns import QueueDepths

STORM_S = float(os.environ.get("CHAOS_SECONDS", "20"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))
RUNS_PER_ACT = 3
#: A storm of an hour submits no more than the workers get done.
UNFINISHED_RUNS = 30
AUDITED_RUNS = 60
DRAIN_S = 120.0

EFFECTS = """
SELECT s.status, count(a.id) FILTER (WHERE a.outcome = 'succeeded') AS outputs,
       count(a.id) FILTER (WHERE a.outcome NOT IN ('succeeded', 'interrupted')) AS others
FROM stage_run AS s LEFT JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage
GROUP BY s.job_id, s.stage, s.status
"""

UNFINISHED = "SELECT count(DISTINCT run_id) FROM job WHERE status NOT IN ('succeeded')"


@pytest.mark.timeout(STORM_S * 1.5 + 600)
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
            if breakable.value(UNFINISHED) < UNFINISHED_RUNS:
                run_ids += [breakable.submit(*chosen, *UNCHECKED, "--new") for _ in range(RUNS_PER_ACT)]
            monkey.act()
            deepest = max(deepest, messages(breakable))
            assert violations(breakable) == {}, monkey.done[-1]
        eventually(lambda: breakable.value(UNFINISHED) == 0, timeout_s=DRAIN_S)
        eventually(lambda: messages(breakable) == 0, timeout_s=DRAIN_S)

    print(f"\nseed {SEED}: {len(run_ids)} runs, {workers.deaths} deaths, {deepest} messages at most\n")
    print(table(breakable, monkey.done))
    jobs = breakable.value("SELECT count(*) FROM job WHERE run_id = ANY($1::bigint[])", run_ids)
    assert jobs == 2 * len(people) * len(run_ids)
    assert deepest <= 4 * jobs
    effects = {(row["status"], row["outputs"], row["others"]) for row in breakable.rows(EFFECTS)}
    assert effects == {("done", 1, 0)}
    audited = run_ids[:: max(1, len(run_ids) // AUDITED_RUNS)]
    assert [breakable.ragq("audit", f"r{run_id}").exit_code for run_id in audited] == [0] * len(audited)
    counted = {run["id"]: sum(run["states"].values()) for run in breakable.ragq("runs", "--json").json["items"]}
    assert {run_id: counted[run_id] for run_id in run_ids[-20:]} == dict.fromkeys(run_ids[-20:], 2 * len(people))


def messages(installation: BreakableInstallation) -> int:
    """The number of messages in all queues."""
    with closing(QueueDepths(make_app(installation.redis_url))) as depths:
        return sum(depths.read(QUEUES).in_queue.values())


def table(installation: BreakableInstallation, faults: list[Fault]) -> str:
    """Per fault, how often it came and how long after it the next output was stored, as a table for the docs."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for fault in faults:
        if (waited := installation.value(NEXT_OUTPUT, fault.ended)) is not None:
            seconds[fault.name].append(waited)
    lines = ["| fault | times | next output, median | longest |", "|---|---|---|---|"]
    for name, found in sorted(seconds.items()):
        lines.append(f"| {name.replace('_', ' ')} | {len(found)} | {median(found):.2f} s | {max(found):.1f} s |")
    return "\n".join(lines)
