"""Times are the database's: a worker whose clock is hours wrong takes no leases of others and loses none."""

import time

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import UNCHECKED, BreakableInstallation
from tests.acceptance.small_data_set import TEST
from tests.chaos.monkey import FAKETIME

ENDED = "SELECT max(abs(extract(epoch FROM ended_at) - $1))::float8 FROM stage_attempt"


@pytest.mark.skipif(FAKETIME is None, reason="needs Debian's libfaketime")
@pytest.mark.parametrize("offset", ["+6h", "-6h"])
def test_a_worker_with_a_wrong_clock_works_beside_one_with_a_right_one(
    breakable: BreakableInstallation, evidence: GiveEvidence, offset: str
) -> None:
    breakable.start_worker()
    wrong = breakable.start_worker(LD_PRELOAD=str(FAKETIME), FAKETIME=offset, FAKETIME_DONT_FAKE_MONOTONIC="1")
    run_ids = [
        breakable.submit(*evidence(dict.fromkeys(TEST[:2], 2)), "--few-shot-only", *UNCHECKED, "--new")
        for _ in range(4)
    ]

    for run_id in run_ids:
        attempts = breakable.assert_recovered(run_id, 2)
        assert {outcome for outcomes in attempts.values() for outcome in outcomes} == {"succeeded"}
    assert wrong.is_alive
    assert breakable.value(ENDED, time.time()) < 3600
