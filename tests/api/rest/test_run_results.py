"""What runs found, over REST."""

import httpx
import pytest

from store.database import Connection
from tests.api.pages.example_runs import question_run
from tests.cli.test_results import twelve_worse, two_runs


@pytest.fixture
async def pair(connection: Connection) -> tuple[int, int]:
    """Two scored runs."""
    return await two_runs(connection)


async def test_the_scores_of_a_run_are_beside_the_truth(
    client: httpx.AsyncClient, connection: Connection, pair: tuple[int, int]
) -> None:
    query = await question_run(connection)

    found = (await client.get(f"/runs/{pair[0]}/scores")).json()
    other = await client.get(f"/runs/{query.run_id}/scores")

    (first, *_) = found["participants"]
    assert (found["run_id"], first["participant_id"], first["truth"]["NoInterest"]) == (pair[0], 316, 1)
    assert first["modes"]["zero_shot"]["items"]["NoInterest"] == 2
    assert (other.status_code, "scores no participants" in other.json()["detail"]) == (409, True)


async def test_a_gate_is_decided_with_the_comparison(client: httpx.AsyncClient, connection: Connection) -> None:
    before, after = await twelve_worse(connection)
    address = f"/runs/{before}/compare"

    found = await client.get(address, params={"other": after, "fail_if": ["mae increases", "mae decreases"]})
    refused = await client.get(address, params={"other": after, "fail_if": "mae rises"})

    assert [one["outcome"] for one in found.json()["gate"]["verdicts"]] == ["failed", "passed"]
    assert (found.json()["gate"]["passed"], refused.status_code) == (False, 409)
    assert (await client.get(address, params={"other": after})).json()["gate"] is None
