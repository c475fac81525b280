"""What runs found, over REST."""

import httpx
import pytest

from api.context import ApiContext
from services.runs import change_run
from tests.api.pages.example_runs import question_run
from tests.cli.test_diff import two_runs


@pytest.fixture
async def pair(ctx: ApiContext) -> tuple[int, int]:
    """Two scored runs; the second has a name."""
    async with ctx.database.connection() as connection:
        cold, hot = await two_runs(connection)
        await change_run(connection, hot, {"name": "hot"})
    return cold, hot


async def test_the_scores_of_a_run_are_beside_the_truth(
    client: httpx.AsyncClient, ctx: ApiContext, pair: tuple[int, int]
) -> None:
    async with ctx.database.connection() as connection:
        query = await question_run(connection)

    found = (await client.get(f"/runs/{pair[0]}/scores")).json()
    missing = await client.get("/runs/999/scores")
    other = await client.get(f"/runs/{query.run_id}/scores")

    (first, *_) = found["participants"]
    assert (found["run_id"], first["participant_id"], first["truth"]["NoInterest"]) == (pair[0], 316, 1)
    assert first["modes"]["zero_shot"]["items"]["NoInterest"] == 2
    assert found == (await client.get(f"/runs/{pair[0]}/scores.json")).json()
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:ragq:problem:run-missing")
    assert (other.status_code, "scores no participants" in other.json()["detail"]) == (409, True)


async def test_two_runs_are_compared_by_number_or_name(client: httpx.AsyncClient, pair: tuple[int, int]) -> None:
    cold, hot = pair
    found = (await client.get("/runs/compare", params={"a": f"r{cold}", "b": "Hot"})).json()

    (difference,) = found["scores"]
    assert found["retrieval"] is None
    assert (difference["left"]["run_id"], difference["right"]["run_id"]) == (f"r{cold}", f"r{hot}")
    assert difference["settings"]["MODEL_TEMPERATURE"] == {"left": 0.0, "right": 0.5}
    assert difference["deltas"]["item_mae_weighted"]["delta"]["value"] == -1

    modes = {"a": str(cold), "b": str(cold), "mode": "zero_shot", "other_mode": "few_shot"}
    (of_modes,) = (await client.get("/runs/compare", params=modes)).json()["scores"]
    assert (of_modes["left"]["mode"], of_modes["right"]["mode"]) == ("zero_shot", "few_shot")


async def test_runs_that_cannot_be_compared_are_a_problem(
    client: httpx.AsyncClient, ctx: ApiContext, pair: tuple[int, int]
) -> None:
    async with ctx.database.connection() as connection:
        query = await question_run(connection)

    for params, named in (
        ({"a": "r1", "b": "no such name"}, "neither the number nor the name"),
        ({"a": str(pair[0]), "b": str(query.run_id)}, "of two kinds"),
        ({"a": "1", "b": "1", "other_mode": "few_shot"}, "mode of A"),
    ):
        refused = await client.get("/runs/compare", params=params)
        assert (refused.status_code, named in refused.json()["detail"]) == (409, True)
    of_questions = await client.get("/runs/compare", params={"a": str(query.run_id), "b": str(query.run_id)})
    assert (of_questions.json()["scores"], of_questions.json()["retrieval"]["common_queries"]) == ([], 1)
