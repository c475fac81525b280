"""Runs and their jobs over REST: listed, shown, changed, forked, deleted, and what they found."""

from typing import Any

import httpx

from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import stages
from tests.api.rest.problems import problem
from tests.cli.test_results import twelve_worse, two_runs
from tests.services.questions.questions import a_question
from tests.stages.reports.builders import scores
from tests.store.conftest import StoreRun
from tests.store.scored import TIMED_OUT, call_model, claimed, committing, failing, forkable_run, take

SECRET = {"quotes": {"sleep": ["I lie awake"]}}


async def test_runs_are_listed_newest_first_named_and_found(client: httpx.AsyncClient, store_run: StoreRun) -> None:
    async def listed(**wanted: object) -> tuple[list[int], dict[str, int] | None]:
        found = (await client.get("/runs", params=wanted)).json()  # type: ignore[arg-type]
        return [run["id"] for run in found["items"]], found["next"]

    async def changed(run_id: int, **changes: object) -> httpx.Response:
        return await client.patch(f"/runs/{run_id}", json=changes)

    first, second, third = [(await store_run("1")).run_id for _ in range(3)]
    named = (await changed(first, name="Baseline", note="of the paper")).json()

    assert await listed(limit=2) == ([third, second], {"before": second})
    assert await listed(limit=2, before=second) == ([first], None)
    assert await listed(kind="query") == ([], None)
    assert (named["name"], named["note"], named["priority"]) == ("Baseline", "of the paper", "normal")
    assert problem(await changed(second, name="baseline")) == (409, "run-name-taken")
    assert problem(await changed(second, name="r7")) == (422, "run-value-unusable")
    assert [(await changed(first, **wrong)).status_code for wrong in ({"title": "x"}, {"priority": None})] == [422] * 2
    assert (await changed(first, priority="bulk")).json()["priority"] == "bulk"
    assert (await listed(search="baseline"))[0] == [first]
    assert (await listed(search=f"r{second}"))[0] == [second]
    assert (await listed(search="paper-test waiting"))[0] == [third, second, first]
    assert (await listed(search="baseline failed"))[0] == []
    assert (await changed(first, name=None)).json()["name"] is None
    assert (await client.get(f"/runs/{first}")).json()["run"]["note"] == "of the paper"


async def test_what_is_no_run_and_no_filter_is_refused(client: httpx.AsyncClient) -> None:
    for path in [
        *("/runs/0", "/runs/+1", "/runs/%201", "/runs/１", "/runs/x", f"/runs/{2**63}"),
        *("/runs?limit=0", "/runs?kind=other"),
    ]:
        assert (await client.get(path)).status_code == 422
    for path in ["/runs", "/rag/queries", "/corpus/works", "/works/1/chunks", "/vocabularies/a/tags"]:
        refused = await client.get(path, params={"serch": "tea"})

        assert (refused.status_code, "serch" in refused.text) == (422, True)


async def test_a_run_and_a_job_are_retried_paused_resumed_and_cancelled_and_a_run_deleted(
    client: httpx.AsyncClient, connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "317")
    address = f"/runs/{stored.run_id}"
    await take(connection, stored.job_ids[1], "extract", failing(TIMED_OUT))

    async def done(action: str, **body: object) -> list[int]:
        found: list[int] = (await client.post(f"{address}/{action}", json=body)).json()["job_ids"]
        return found

    assert await done("retry") == [stored.job_ids[1]]
    assert problem(await client.post(f"{address}/retry")) == (409, "no-job-in-state")
    assert await done("pause", note="not now") == stored.job_ids
    paused = (await client.get(address)).json()["jobs"]
    assert [(job["status"], job["note"]) for job in paused] == [(JobStatus.PAUSED, "not now")] * 2
    assert await done("resume") == stored.job_ids
    assert problem(await client.delete(address)) == (409, "run-active")
    assert await done("cancel") == stored.job_ids
    assert (await client.get(address)).json()["run"]["states"] == {"cancelled": 2}
    assert (await client.delete(address)).json()["jobs"] == 2
    assert [(await client.request(method, address)).status_code for method in ("GET", "DELETE")] == [404, 404]

    (job_id,) = (await store_run("316")).job_ids
    await take(connection, job_id, "extract", failing(TIMED_OUT))
    for action in ("retry", "pause", "resume", "cancel"):
        assert (await client.post(f"/jobs/{job_id}/{action}")).json()["job_ids"] == [job_id]
    assert (await client.post(f"/jobs/{job_id}/pause")).status_code == 409
    assert (await client.get(f"/jobs/{job_id}")).json()["status"] == "cancelled"


async def test_the_history_of_a_job_holds_no_text_unless_it_is_asked_for(
    client: httpx.AsyncClient, connection: Connection, store_run: StoreRun
) -> None:
    """Its first stage is done, and its second failed once after a call."""
    (job_id,) = (await store_run(stages=("extract", "score"))).job_ids
    await take(connection, job_id, "extract", committing(SECRET))
    claim = await claimed(connection, job_id, "score")
    reply: dict[str, Any] = {"model": "small", "text": "she said so", "prompt_tokens": 7}
    await call_model(connection, claim.attempt_id, "I lie awake", **reply)
    await stages.fail(connection, claim, TIMED_OUT, inputs={"transcript_hash": "t"})

    async def attempts(**wanted: Any) -> tuple[list[Any], str]:
        found = await client.get(f"/jobs/{job_id}/attempts", params=wanted)
        return found.json()["items"], found.text

    (extract, score), plain = await attempts()
    (whole_extract, whole_score), _ = await attempts(outputs=True)
    (only,), _ = await attempts(stage="score", number=1)

    assert (extract["output"], extract["outcome"], score["error"]["details"]) == (None, "succeeded", None)
    assert score["previous_hash"] == extract["hash"]
    assert not [words for words in ("awake", "private", "she said so") if words in plain]
    assert (whole_extract["output"], whole_score["error"]["details"]) == (SECRET, {"words": "private"})
    (call_of_one,), (call_of_whole,) = only["calls"], whole_score["calls"]
    assert [call_of_one[name] for name in ("model", "is_reused", "prompt_tokens", "reply")] == ["small", False, 7, None]
    assert (call_of_whole["reply"], call_of_whole["request"]["messages"][0]["content"]) == (
        "she said so",
        "I lie awake",
    )


async def test_a_run_is_forked_once_for_a_key_and_a_job_forked_and_computed_again(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    parent = await forkable_run(connection, {316: scores("11"), 319: None})
    body = {"stage": "score", "settings": {"RAGQ_SCORE_SCHEMA": True}}

    made, replayed = [await client.post("/runs/1/fork", json=body, headers={"Idempotency-Key": "a"}) for _ in range(2)]
    again = await client.post("/runs/1/fork", json=body)

    assert (made.status_code, made.headers["Location"]) == (201, "/runs/2")
    expected = {"run_id": 2, "parent_id": 1, "is_new": True, "jobs": 2, "left_out": {}}
    assert expected.items() <= made.json().items()
    assert replayed.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json()["is_new"]) == (200, False)

    again = await client.post("/jobs/1/retry", json={"stage": "assemble"})
    run, child = (await client.get("/runs/1")).json(), (await client.get("/runs/2")).json()
    job = (await client.get(f"/jobs/{child['jobs'][0]['job_id']}")).json()
    assert run["family"]["children"] == {"2": "score"}
    assert (child["family"]["parent_id"], child["run"]["jobs"]) == (1, 2)
    assert job["parent_job_id"] == parent.job_ids[0]
    assert again.json()["job_ids"] == [1]
    assert [stage["status"] for stage in (await client.get("/jobs/1")).json()["stages"]] == ["done", "ready", "waiting"]


async def test_the_scores_of_a_run_are_beside_the_truth(client: httpx.AsyncClient, connection: Connection) -> None:
    scored, query = (await two_runs(connection))[0], await a_question(connection)

    found = (await client.get(f"/runs/{scored}/scores")).json()
    other = await client.get(f"/runs/{query.run_id}/scores")

    (first, *_) = found["scores"]
    assert (found["run_id"], first["participant_id"], first["truth"]["NoInterest"]) == (scored, 316, 1)
    assert (first["mode"], first["scores"]["NoInterest"]) == ("few_shot", 1)
    assert (other.status_code, "scores no participants" in other.json()["detail"]) == (409, True)


async def test_a_gate_is_decided_with_the_comparison(client: httpx.AsyncClient, connection: Connection) -> None:
    before, after = await twelve_worse(connection)

    async def compared(**asked: Any) -> httpx.Response:
        return await client.get(f"/runs/{before}/compare", params={"other": after, **asked})

    gate = (await compared(fail_if=["mae increases", "mae decreases"])).json()
    assert ([one["outcome"] for one in gate["verdicts"]], gate["passed"]) == (["failed", "passed"], False)
    assert (await compared(fail_if="mae rises")).status_code == 409
    assert (await compared()).json()["passed"] is None
