"""What an upload would do over REST, and the removal of works whose files are gone."""

from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import httpx
import pytest

from api.context import ApiContext
from store.corpora.keeping import keep
from tests.api.rest.test_corpora import send_files, slug
from tests.api.works import POT, TEA, imported
from tests.store.kept_works import new_work

PLAN: Final = "/corpora/files/plan"


def listed(name: str, content: bytes | str, **given: Any) -> dict[str, Any]:
    """A file of the list."""
    held = content.encode() if isinstance(content, str) else content
    return {"file_name": name, "sha256": sha256(held).hexdigest(), "size": len(held), **given}


async def planned(client: httpx.AsyncClient, *files: dict[str, Any], **values: Any) -> Any:
    """The plan of an upload into the library."""
    reply = await client.post(PLAN, json={"corpus": "library", "files": files, **values})
    assert reply.status_code == 200, reply.text
    return reply.json()


def outcomes(plan: Any) -> list[tuple[str, str, int | None]]:
    return [(file["file_name"], file["outcome"], file["work_id"]) for file in plan["files"]]


async def test_a_plan_names_what_is_new_replaced_unchanged_refused_and_without_a_file(
    client: httpx.AsyncClient,
) -> None:
    first = await planned(client, listed("tea.md", TEA))
    assert (first["corpus_id"], outcomes(first), first["without_file"]) == (None, [("tea.md", "new", None)], [])
    made = await imported(client, tea=TEA, pot=POT, cup="# Cup\n\nA cup.\n")
    tea, pot, cup = (file["work_id"] for file in made["files"])

    plan = await planned(
        client,
        listed("/books/tea.md", TEA),
        listed("pot.md", "# Another pot\n"),
        listed("copy.md", TEA),
        listed("new.md", "# New\n"),
        listed("newer.md", "# New\n"),
        listed("page.html", "<!doctype html>"),
    )

    assert outcomes(plan) == [
        ("tea.md", "unchanged", tea),
        ("pot.md", "replaced", pot),
        ("copy.md", "refused", tea),
        ("new.md", "new", None),
        ("newer.md", "refused", None),
        ("page.html", "new", None),
    ]
    assert [file["reason"] for file in plan["files"] if file["reason"]] == [
        f"the same text is work {tea} already, 'Tea'.",
        "new.md has the same text.",
    ]
    assert plan["without_file"] == [{"id": cup, "title": "Cup", "source_path": "cup.md"}]
    assert (await client.get(f"/corpora/{made['corpus_id']}")).json()["works"] == 3


async def test_what_is_planned_is_what_an_import_does(client: httpx.AsyncClient) -> None:
    await imported(client, tea=TEA, pot=POT)
    files = [("tea.md", TEA), ("pot.md", "# Pot\n\nCold.\n"), ("copy.md", TEA), ("new.md", "# New\n\nIt is.\n")]
    plan = await planned(client, *[listed(*file) for file in files])

    done = (await send_files(client, *[(name, text.encode()) for name, text in files])).json()

    assert [file["outcome"] for file in done["files"]] == [file["outcome"] for file in plan["files"]]
    again = await planned(client, *[listed(*file) for file in files])
    assert [file["outcome"] for file in again["files"]] == ["unchanged", "unchanged", "refused", "unchanged"]


async def test_fields_that_are_given_are_compared_with_those_of_the_work(client: httpx.AsyncClient) -> None:
    await imported(client, tea=TEA)

    same = await planned(client, listed("tea.md", TEA, year=2019))
    other = await planned(client, listed("tea.md", TEA, authors="B. Pot"))

    assert [plan["files"][0]["outcome"] for plan in (same, other)] == ["unchanged", "replaced"]


@pytest.mark.parametrize(
    ("name", "size", "reason"),
    [
        ("photo.jpg", 100, "its name ends in none of .md, .markdown, .pdf"),
        ("empty.md", 0, "is empty."),
        ("huge.pdf", 21_000_000, "has more than the 20480 KB of an upload"),
    ],
)
async def test_a_file_that_cannot_be_imported_is_refused_with_the_reason(
    client: httpx.AsyncClient, name: str, size: int, reason: str
) -> None:
    file = listed("tea.md", TEA) | {"file_name": name, "size": size}
    (found,) = (await planned(client, file))["files"]

    assert (found["outcome"], found["reason"][: len(reason)]) == ("refused", reason)


async def test_two_files_of_a_name_are_one_work_so_the_second_is_refused(client: httpx.AsyncClient) -> None:
    plan = await planned(client, listed("/a/tea.md", TEA), listed("/b/tea.md", POT))
    sent = await send_files(client, ("/a/tea.md", TEA.encode()), ("/b/tea.md", POT.encode()))

    assert [file["outcome"] for file in plan["files"]] == ["new", "refused"]
    assert slug(sent) == (422, "works-unusable")
    assert [error["message"] for error in sent.json()["errors"]] == [plan["files"][1]["reason"]]


async def test_a_document_is_compared_by_its_bytes_and_markdown_that_went_through_stages_too(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    made = await imported(client, tea=TEA)
    async with ctx.database.connection() as connection:
        for name, content in (("book.pdf", "%PDF-1.7"), ("staged.md", POT)):
            original = sha256(content.encode()).hexdigest()
            work = new_work(f"# {name}\n\nIts text.\n", title=name, source_path=name)
            await keep(connection, made["corpus_id"], replace(work, original_hash=original))
    files = [listed("tea.md", TEA), listed("book.pdf", "%PDF-1.7"), listed("staged.md", POT)]

    plan = await planned(client, *files)
    staged = await planned(client, *files, by_stages=True)

    assert [file["outcome"] for file in plan["files"]] == ["unchanged"] * 3
    assert [file["outcome"] for file in staged["files"]] == ["replaced", "unchanged", "unchanged"]


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
    assert (slug(again), f"{pot}, {cup}" in again.json()["detail"]) == ((404, "work-missing"), True)


async def test_an_unknown_work_one_of_another_corpus_and_one_without_a_file_remove_nothing(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    made = await imported(client, tea=TEA)
    other = await imported(client, corpus="other", pot=POT)
    tea, pot = made["files"][0]["work_id"], other["files"][0]["work_id"]
    async with ctx.database.connection() as connection:
        kept = await keep(connection, made["corpus_id"], new_work("# Told\n\nBy heart.\n", source_path=None))
    address = f"/corpora/{made['corpus_id']}/works/remove"

    for wrong in (pot, kept.work_id, 999):
        refused = await client.post(address, json={"work_ids": [tea, wrong]})
        assert (slug(refused), f"each of these numbers: {wrong}." in refused.json()["detail"]) == (
            (404, "work-missing"),
            True,
        )

    assert (await client.get(f"/corpora/{made['corpus_id']}")).json()["works"] == 2
    assert slug(await client.post("/corpora/999/works/remove", json={"work_ids": [tea]})) == (404, "corpus-missing")
    assert slug(await client.post(address, json={"work_ids": []})) == (422, "request-invalid")


async def test_works_of_folders_of_a_machine_are_not_without_a_file(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    made = await imported(client, tea=TEA)
    async with ctx.database.connection() as connection:
        work = new_work("# Other\n\nFrom a folder.\n", title="Other", source_path="/books/other.md")
        await keep(connection, made["corpus_id"], work)

    plan = await planned(client)

    assert [work["source_path"] for work in plan["without_file"]] == ["tea.md"]


async def test_a_plan_estimates_the_run_of_its_documents(
    client: httpx.AsyncClient, ctx: ApiContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(client, tea=TEA)
    page = listed("page.html", "<!doctype html><h1>Tea</h1>")

    plain = await planned(client, listed("pot.md", POT))
    found = (await planned(client, listed("tea.md", TEA), listed("photo.jpg", "x"), page))["estimate"]
    monkeypatch.setitem(ctx.environment, "RAGQ_REPAIR_BY", "model")
    asking = (await planned(client, page, listed("pot.md", POT)))["estimate"]

    assert plain["estimate"] is None
    assert (found["jobs"], found["modes"], found["calls_at_most"]) == (1, {"document": 1}, 0)
    assert (asking["jobs"], asking["calls_at_most"], asking["stages"]["repair"]["jobs_unbounded"]) == (2, None, 2)
    assert "2 documents are not converted yet, or not sent" in asking["notices"][-1]


async def test_an_import_of_texts_is_estimated_and_nothing_is_stored(client: httpx.AsyncClient) -> None:
    body = {"corpus": "library", "works": [{"file_name": "tea.md", "markdown": TEA}]}
    by_model = {"settings": {"RAGQ_REPAIR_BY": "model", "RAGQ_REPLY_RETRIES": 1}}

    plain = (await client.post("/corpora/works/estimate", json=body)).json()
    asking = (await client.post("/corpora/works/estimate", json=body | by_model)).json()
    assert (await client.get("/corpora")).json()["corpora"] == []
    made = (await client.post("/corpora/works", json=body)).json()
    again = (await client.post("/corpora/works/estimate", json=body)).json()

    assert plain["estimate"] is None and plain["embedding"]["jobs"] == made["jobs"] == 1
    assert asking["embedding"] is None
    assert (asking["estimate"]["jobs"], asking["estimate"]["calls_at_most"]) == (1, 2)
    assert again == {"embedding": None, "estimate": None}
