"""Evaluations over REST and on their pages."""

import httpx

from store.database import Connection
from store.questions import queries
from store.runs import jobs
from tests.api.pages.html import see, words
from tests.services.questions.questions import ANSWER, PROMPT
from tests.store.query_runs import store_corpus, store_query_run


async def test_answers_are_evaluated_once_and_reported_with_what_is_not_scored(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    await store_corpus(connection, ["tea"])
    run_id = await store_query_run(connection, dict.fromkeys(("q1", "q2", "q3")))
    for job_id in await jobs.in_order(connection, run_id, limit=2):
        asked = await queries.of_job(connection, job_id)
        assert asked is not None
        await queries.add_result(connection, asked, ANSWER, PROMPT)

    made = await client.post("/runs/1/evaluations", json={})
    again = await client.post("/runs/1/evaluations", json={})

    assert (made.status_code, made.headers["Location"], made.json()["jobs"]) == (201, "/runs/2", 2)
    assert (again.status_code, again.json()["is_new"], again.json()["run_id"]) == (200, False, 2)
    report = (await client.get("/runs/2/scores")).json()
    counts = {name: report["counts"][name] for name in ("questions", "unanswered", "unfinished", "scored")}
    assert counts == {"questions": 3, "unanswered": 1, "unfinished": 2, "scored": 0}
    assert report["measures"]["correctness"]["share"]["value"] is None
    assert [one["scores"] for one in report["answers"]] == [None, None]
    shown = words(await see(client, "/ui/runs/2/evaluation"))
    assert "0 of 3 questions scored; N/A: 1 without an answer, 2 unfinished." in shown
