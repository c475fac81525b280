"""Sweeps and dry runs of forks over REST."""

import httpx
import pytest

from api.context import ApiContext
from store.runs import forks
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels

PEOPLE = (316, 319)
BODY = {"stage": "score", "grid": {"RAGQ_SCORE_TEXT_CHARS": [10, 20]}}
RESULTS = "/runs/1/sweep?stage=score&setting=RAGQ_SCORE_TEXT_CHARS"


@pytest.fixture
async def parent(ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await import_labels(connection, dict.fromkeys(PEOPLE, labels("22222222")))
        await forkable_run(connection, dict.fromkeys(PEOPLE, scores("33333333")))


async def test_a_sweep_stores_its_forks_once_and_compares_them(
    client: httpx.AsyncClient, ctx: ApiContext, parent: None
) -> None:
    made = await client.post("/runs/1/sweeps", json=BODY)
    again = await client.post("/runs/1/sweeps", json=BODY)

    assert (made.status_code, made.headers["Location"]) == (201, RESULTS)
    assert [(one["run_id"], one["is_new"], one["values"]) for one in made.json()["forks"]] == [
        (2, True, {"RAGQ_SCORE_TEXT_CHARS": "10"}),
        (3, True, {"RAGQ_SCORE_TEXT_CHARS": "20"}),
    ]
    assert [(one["run_id"], one["is_new"]) for one in again.json()["forks"]] == [(2, False), (3, False)]
    early = (await client.get(RESULTS)).json()
    assert early["unfinished"] == ["r2", "r3"]
    async with ctx.database.connection() as connection:
        for run_id, digits in {2: "22222222", 3: "00000000"}.items():
            for job in await forks.parent_jobs(connection, run_id):
                await finish(connection, job.id, ("score",), scores(digits))

    found = (await client.get(RESULTS)).json()

    assert (found["unfinished"], found["points"]["r3"]) == ([], {"RAGQ_SCORE_TEXT_CHARS": "20"})
    assert (found["best"][0]["run_id"], found["best"][0]["is_better"]) == ("r2", True)
    assert "chosen on the same subjects" in found["warning"]
    delta = found["results"][0]["compared"][0]["measures"]["item_mae_weighted"]
    assert (delta["baseline"], delta["value"], delta["delta"]["value"]) == (1.0, 0.0, -1.0)


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "kind"),
    [
        ("POST", "/runs/9/sweeps", BODY, 404, "run-missing"),
        ("POST", "/runs/1/sweeps", BODY | {"stage": "rerank"}, 409, "fork-refused"),
        ("POST", "/runs/1/sweeps/estimate", BODY | {"grid": {"RAGQ_SCORE_INPUT": ["evidence"]}}, 409, "fork-refused"),
        ("POST", "/runs/1/sweeps", BODY | {"grid": {}}, 422, "request-invalid"),
        ("POST", "/runs/9/fork/estimate", {"stage": "score"}, 404, "run-missing"),
        ("GET", "/runs/9/sweep?stage=score&setting=A", None, 404, "run-missing"),
        ("GET", "/runs/1/sweep?stage=score&setting=A", None, 409, None),
    ],
)
async def test_what_cannot_be_is_refused(
    client: httpx.AsyncClient, parent: None, method: str, address: str, body: object, status: int, kind: str | None
) -> None:
    reply = await client.request(method, address, json=body)

    assert reply.status_code == status, reply.text
    if kind is not None:
        assert reply.json()["type"].endswith(kind)
