"""Forks over REST."""

import httpx

from store.runs.runs import StoredRun


async def test_a_run_is_forked_once_for_a_key(client: httpx.AsyncClient, parent: StoredRun) -> None:
    body = {"stage": "score", "settings": {"RAGQ_SCORE_SCHEMA": True}}

    made = await client.post("/runs/1/fork", json=body, headers={"Idempotency-Key": "a"})
    replayed = await client.post("/runs/1/fork", json=body, headers={"Idempotency-Key": "a"})
    again = await client.post("/runs/1/fork", json=body)

    assert (made.status_code, made.headers["Location"]) == (201, "/runs/2")
    forked = made.json()
    assert (forked["run_id"], forked["parent_id"], forked["is_new"], forked["jobs"]) == (2, 1, True, 2)
    assert (forked["left_out"], forked["without_stage"]) == ([], 0)
    assert replayed.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json()["is_new"]) == (200, False)


async def test_parent_and_forks_are_in_the_replies(client: httpx.AsyncClient, parent: StoredRun) -> None:
    await client.post(f"/jobs/{parent.job_ids[0]}/fork", json={"stage": "score"})

    run, child = (await client.get("/runs/1")).json(), (await client.get("/runs/2")).json()
    job = (await client.get(f"/jobs/{child['jobs'][0]['job_id']}")).json()

    assert run["family"]["children"] == [{"run_id": 2, "stage": "score"}]
    assert (child["family"]["parent_id"], child["run"]["jobs"]) == (1, 1)
    assert job["parent_job_id"] == parent.job_ids[0]


async def test_a_job_computes_stages_again(client: httpx.AsyncClient, parent: StoredRun) -> None:
    done = await client.post("/jobs/1/retry", json={"stage": "assemble"})

    assert done.json()["job_ids"] == [1]
    stages = (await client.get("/jobs/1")).json()["stages"]
    assert [stage["status"] for stage in stages] == ["done", "ready", "waiting"]
