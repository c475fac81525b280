"""Runs are stored in batches, and found again by what they are."""

from collections.abc import Iterator

import pytest

from schemas.statuses import WaitReason
from schemas.suggestions import Each
from store.database import Connection
from store.runs import jobs, ledger, runs, stages
from store.runs.chain import content_hash
from store.runs.ledger import Waited
from store.runs.runs import NewJob, NewRun
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, claimed

STAGES = {"few_shot": ("extract", "embed", "score"), "zero_shot": ("extract", "score")}


def job(number: int) -> NewJob:
    mode = ("zero_shot", "few_shot")[number % 2]
    return NewJob(mode=mode, subject=str(number), inputs={"n": number, "words": ["é", "\n"]}, stages=STAGES[mode])


def run_of(jobs: int) -> NewRun:
    return new_run(jobs=Each(range(jobs), job))


def test_the_identity_is_the_hash_of_the_whole_run() -> None:
    for run in (run_of(3), run_of(0)):
        of_jobs = [[one.mode, one.subject, one.inputs, list(one.stages)] for one in run.jobs]
        assert run.identity == content_hash({"kind": run.kind, "settings": run.settings_hash, "jobs": of_jobs})
    # As older versions computed it.
    assert run_of(2).identity == "24ef6d4505e83628200176f552b59035e9d5f5e83cba694577f507a3e2e6a36d"


async def test_jobs_of_several_batches_have_their_places_stages_and_inputs(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "BATCH", 4)
    stored = await runs.store(connection, run_of(9))

    rows = await connection.fetch("SELECT * FROM job WHERE run_id = $1 ORDER BY ordinal", stored.run_id)
    found = await jobs.of_jobs(connection, stored.job_ids)

    assert [row["id"] for row in rows] == stored.job_ids == sorted(stored.job_ids)
    for place, (row, one) in enumerate(zip(rows, map(job, range(9)), strict=True)):
        kept = (row["ordinal"], row["mode"], row["subject"], row["inputs"])
        assert kept == (place, one.mode, one.subject, one.inputs)
        states = {stage.stage: str(stage.status) for stage in found[row["id"]]}
        assert list(states.items()) == list((dict.fromkeys(one.stages, "waiting") | {"extract": "ready"}).items())


async def test_jobs_that_cannot_be_made_leave_nothing(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "BATCH", 2)

    class Breaking:
        readings = 0

        def __len__(self) -> int:
            return 5

        def __iter__(self) -> Iterator[NewJob]:
            self.readings += 1
            yield from map(job, range(4))
            if self.readings > 1:
                raise ValueError("gone")

    with pytest.raises(ValueError, match="gone"):
        await runs.store(connection, new_run(jobs=Breaking()))

    assert await connection.fetch("SELECT id FROM run UNION ALL SELECT id FROM job") == []


async def test_a_wait_is_of_its_stage_alone_and_not_shown_once_that_is_retried(connection: Connection) -> None:
    stored = await runs.store(connection, new_run(("316", "319"), stages=("extract",)))
    job_id, other_id = stored.job_ids
    claim, other = await claimed(connection, job_id, "extract"), await claimed(connection, other_id, "extract")
    await ledger.wait(connection, claim, server="east", reason=WaitReason.CALLS, wait_s=0, refusals=2)
    assert await ledger.of(connection, claim) == Waited(refusals=2, has_waited=True, has_budget=False)
    assert await ledger.of(connection, other) == Waited(refusals=0, has_waited=False, has_budget=False)
    again = await claimed(connection, job_id, "extract")
    await stages.fail(connection, again, TIMED_OUT, inputs={}, retry_in_s=60)

    (shown,) = (await jobs.of_jobs(connection, [job_id]))[job_id]

    assert shown.waits_for is not None and "east" not in shown.waits_for
