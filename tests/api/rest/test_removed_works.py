"""The removal of works over REST."""

import httpx

from store.corpora.keeping import keep
from store.database import Connection
from tests.api.rest.problems import problem
from tests.api.works import POT, TEA, imported
from tests.store.kept_works import new_work


async def test_works_that_are_named_are_removed_and_no_others(client: httpx.AsyncClient) -> None:
    made = await imported(client, tea=TEA, pot=POT, cup="# Cup\n\nA cup.\n")
    tea, pot, cup = (file["work_id"] for file in made["files"])
    address = f"/corpora/{made['corpus_id']}/works/remove"

    reply = await client.post(address, json={"work_ids": [pot, cup, pot]})

    assert reply.status_code == 200, reply.text
    assert [work["source_path"] for work in reply.json()["removed"]] == ["pot.md", "cup.md"]
    left = (await client.get(f"/corpora/{made['corpus_id']}/works")).json()["works"]
    assert [work["id"] for work in left] == [tea]
    again = await client.post(address, json={"work_ids": [pot, cup]})
    assert (problem(again), f"{pot}, {cup}" in again.json()["detail"]) == ((404, "work-missing"), True)


async def test_an_unknown_work_and_one_of_another_corpus_remove_nothing_and_one_without_a_file_is_removed(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    made = await imported(client, tea=TEA)
    other = await imported(client, corpus="other", pot=POT)
    tea, pot = made["files"][0]["work_id"], other["files"][0]["work_id"]
    kept = await keep(connection, made["corpus_id"], new_work("# Told\n\nBy heart.\n", source_path=None))
    address = f"/corpora/{made['corpus_id']}/works/remove"

    for wrong in (pot, 999):
        refused = await client.post(address, json={"work_ids": [tea, wrong]})
        assert (problem(refused), f"each of these numbers: {wrong}." in refused.json()["detail"]) == (
            (404, "work-missing"),
            True,
        )

    assert (await client.get(f"/corpora/{made['corpus_id']}")).json()["works"] == 2
    assert problem(await client.post("/corpora/999/works/remove", json={"work_ids": [tea]})) == (404, "corpus-missing")
    told = (await client.post(address, json={"work_ids": [kept.work_id]})).json()["removed"]
    assert [(work["id"], work["source_path"]) for work in told] == [(kept.work_id, None)]
    assert problem(await client.post(address, json={"work_ids": []})) == (422, "request-invalid")
