"""Runs over REST."""

from collections.abc import Awaitable, Callable

import httpx
import pytest

from api.context import ApiContext
from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import runs
from store.runs.runs import StoredRun
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, failing, take

MakeRun = Callable[..., Awaitable[StoredRun]]


@pytest.fixture
def make_run(ctx: ApiContext) -> MakeRun:
    """Stores a run of one job per subject, of these stages."""

    async def make(*subjects: str, stages: tuple[str, ...] = ("extract", "embed")) -> StoredRun:
        async with ctx.database.connection() as connection:
            return await runs.store(connection, new_run(subjects, stages=stages), always_new=True)

    return make


async def test_runs_are_listed_newest_first_and_in_pages(client: httpx.AsyncClient, make_run: MakeRun) -> None:
    first, second, third = [(await make_run("1")).run_id for _ in range(3)]

    newest = (await client.get("/runs", params={"limit": 2})).json()
    rest = (await client.get("/runs", params={"limit": 2, "before": newest["next_before"]})).json()

    assert [run["id"] for run in newest["runs"]] == [third, second]
    assert ([run["id"] for run in rest["runs"]], rest["next_before"]) == ([first], None)
    assert (await client.get("/runs", params={"kind": "query"})).json() == {"runs": [], "next_before": None}


async def test_a_filter_that_a_list_does_not_have_is_refused(client: httpx.AsyncClient) -> None:
    for path in ["/runs", "/rag/queries", "/corpora/1/works", "/works/1/chunks", "/vocabularies/a/tags"]:
        refused = await client.get(path, params={"serch": "tea"})

        assert (refused.status_code, "serch" in refused.text) == (422, True)


async def test_what_is_no_run_is_refused(client: httpx.AsyncClient) -> None:
    for path in [
        "/runs/0",
        "/runs/+1",
        "/runs/%201",
        "/runs/１",
        "/runs/x",
        f"/runs/{2**63}",
        "/runs?limit=0",
        "/runs?kind=other",
    ]:
        assert (await client.get(path)).status_code == 422


async def test_a_failed_run_is_retried_once(
    client: httpx.AsyncClient, connection: Connection, make_run: MakeRun
) -> None:
    stored = await make_run("316", "317")
    await take(connection, stored.job_ids[1], "extract", failing(TIMED_OUT))

    retried = await client.post(f"/runs/{stored.run_id}/retry")
    again = await client.post(f"/runs/{stored.run_id}/retry")

    assert retried.json()["job_ids"] == [stored.job_ids[1]]
    assert (again.status_code, again.json()["type"]) == (409, "urn:ragq:problem:no-job-in-state")


async def test_a_run_is_paused_resumed_and_cancelled(client: httpx.AsyncClient, make_run: MakeRun) -> None:
    stored = await make_run("316")
    address = f"/runs/{stored.run_id}"

    assert (await client.post(f"{address}/pause", json={"note": "not now"})).json()["job_ids"] == stored.job_ids
    (paused,) = (await client.get(address)).json()["jobs"]
    assert (await client.post(f"{address}/resume")).status_code == 200
    assert (await client.post(f"{address}/cancel")).status_code == 200

    assert (paused["status"], paused["note"]) == (JobStatus.PAUSED, "not now")
    assert (await client.get(address)).json()["run"]["states"] == {"cancelled": 1}


async def test_a_run_is_named_annotated_and_found_by_its_words(client: httpx.AsyncClient, make_run: MakeRun) -> None:
    first, second = [(await make_run("1")).run_id for _ in range(2)]

    named = await client.patch(f"/runs/{first}", json={"name": "Baseline", "note": "of the paper"})
    taken = await client.patch(f"/runs/{second}", json={"name": "baseline"})
    invalid = await client.patch(f"/runs/{second}", json={"name": "r7"})

    assert (named.json()["name"], named.json()["note"]) == ("Baseline", "of the paper")
    assert (taken.status_code, taken.json()["type"]) == (409, "urn:ragq:problem:run-name-taken")
    assert (invalid.status_code, invalid.json()["type"]) == (422, "urn:ragq:problem:run-value-unusable")
    assert (await client.patch(f"/runs/{first}", json={"title": "x"})).status_code == 422
    assert named.json()["priority"] == "normal"
    assert (await client.patch(f"/runs/{first}", json={"priority": "bulk"})).json()["priority"] == "bulk"
    assert (await client.patch(f"/runs/{first}", json={"priority": None})).status_code == 422
    assert (await client.patch("/runs/99", json={"name": "x"})).status_code == 404
    for words, found in (("baseline", [first]), (f"r{second}", [second]), ("paper-test waiting", [second, first])):
        listed = (await client.get("/runs", params={"search": words})).json()["runs"]
        assert [run["id"] for run in listed] == found
    assert (await client.get("/runs", params={"search": "baseline failed"})).json()["runs"] == []
    assert (await client.patch(f"/runs/{first}", json={"name": None})).json()["name"] is None
    assert (await client.get(f"/runs/{first}")).json()["run"]["note"] == "of the paper"


async def test_a_run_is_deleted_when_it_does_not_work(client: httpx.AsyncClient, make_run: MakeRun) -> None:
    stored = await make_run("1", "2")

    refused = await client.delete(f"/runs/{stored.run_id}")
    await client.post(f"/runs/{stored.run_id}/cancel")
    deleted = await client.delete(f"/runs/{stored.run_id}")

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:ragq:problem:run-active")
    assert (deleted.status_code, deleted.json()["jobs"]) == (200, 2)
    assert (await client.get(f"/runs/{stored.run_id}")).status_code == 404
    assert (await client.delete(f"/runs/{stored.run_id}")).status_code == 404
