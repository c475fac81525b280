"""What runs found, over REST."""

import httpx
import pytest

from store.database import Connection
from tests.api.pages.example_runs import question_run
from tests.cli.test_diff import twelve_worse, two_runs


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


@pytest.mark.parametrize(
    "other_form",
    [
        "output #- '{items,Sleep,score}'",
        "jsonb_set(output, '{items}', '[]')",
        "jsonb_set(output, '{items,Sleep,score}', '4')",
    ],
)
async def test_scores_in_another_form_are_refused_and_never_counted_as_missing(
    client: httpx.AsyncClient, connection: Connection, pair: tuple[int, int], other_form: str
) -> None:
    await connection.execute(
        f"UPDATE stage_attempt SET output = {other_form} WHERE stage = 'score' AND job_id = "
        f"(SELECT min(id) FROM job WHERE run_id = {pair[0]})"
    )

    refused = await client.get(f"/runs/{pair[0]}/scores")

    assert (refused.status_code, "stored by another version of ragq" in refused.json()["detail"]) == (409, True)
    assert (await client.get(f"/runs/{pair[1]}/scores")).status_code == 200


async def test_a_gate_is_decided_with_the_comparison(client: httpx.AsyncClient, connection: Connection) -> None:
    before, after = await twelve_worse(connection)
    address = f"/runs/{before}/compare"

    found = await client.get(address, params={"other": after, "fail_if": ["mae increases", "mae decreases"]})
    refused = await client.get(address, params={"other": after, "fail_if": "mae rises"})

    assert [one["outcome"] for one in found.json()["gate"]["verdicts"]] == ["failed", "passed"]
    assert (found.json()["gate"]["passed"], refused.status_code) == (False, 409)
    assert (await client.get(address, params={"other": after})).json()["gate"] is None
