"""Corpora, works and documents over REST: imported, shown, edited and removed."""

import httpx
from fastapi import FastAPI

from store.corpora.keeping import keep
from store.database import Connection
from store.runs import overviews
from tests.api.rest.problems import problem
from tests.api.works import POT, TEA, imported
from tests.services.documents import BOOK, Library, library
from tests.store.small_corpora import new_work

__all__ = ["library"]


async def send_files(client: httpx.AsyncClient, *files: tuple[str, bytes], **fields: str) -> httpx.Response:
    return await client.post(
        "/corpora/files", data={"corpus": "library", **fields}, files=[("files", file) for file in files]
    )


async def test_an_import_says_what_became_of_each_file_and_a_run_embeds_them(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    first = await send_files(client, ("C:\\works\\tea.md", TEA.encode()), ("pot.md", POT.encode()))
    again = await send_files(client, ("/folder/tea.md", TEA.encode()), ("copy.md", POT.encode()))
    replaced = await imported(client, tea=TEA + "\nBlack leaves.\n")

    made = first.json()
    tea, pot = (file["work_id"] for file in made["files"])
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"] == again.headers["location"] == "/corpus/works?corpus=library"
    assert [
        [(file["file_name"], file["outcome"], file["work_id"]) for file in reply["files"]]
        for reply in (made, again.json(), replaced)
    ] == [
        [("tea.md", "new", tea), ("pot.md", "new", pot)],
        [("tea.md", "unchanged", tea), ("copy.md", "refused", pot)],
        [("tea.md", "replaced", tea)],
    ]
    assert [(reply["run_id"], reply["jobs"]) for reply in (made, again.json())] == [(1, 1), (None, 0)]
    assert (made["documents_run_id"], made["documents"], made["unchanged_documents"]) == (None, 0, 0)
    run = await overviews.get(connection, made["run_id"])
    assert (run.kind, run.request["corpus"], run.request["chunks"], made["waiting"]) == ("index", "library", 4, 4)


async def test_corpora_are_shown_with_their_numbers_and_works(client: httpx.AsyncClient) -> None:
    made = await imported(client)
    await imported(client, corpus="other", cup="# Cups\n\nSmall.\n")

    listed = (await client.get("/corpora")).json()["items"]
    named = (await client.get("/corpora", params={"name": "other"})).json()["items"]
    found = (await client.get("/corpus/works", params={"corpus": "library", "search": "pot", "limit": 1})).json()

    assert [(corpus["name"], corpus["works"], corpus["searchable"]) for corpus in listed] == [
        ("library", 2, 0),
        ("other", 1, 0),
    ]
    assert (named, listed[0]["language"], listed[0]["full_text"]) == (listed[1:], "english", "english")
    numbers = {"works": 2, "sections": 3, "searchable": 0, "waiting": 4, "failed": 0, "tables": 1, "cut": 0}
    facts = {"dimension": 384, "embeds_headings": True, "has_vector_index": False, "questions": 0, "answers": 0}
    assert listed[0].items() >= (numbers | facts).items()
    assert ([work["title"] for work in found["works"]], found["total"], found["next"]) == (["The pot"], 1, None)

    # The addresses of the original's web client.
    tea = made["files"][0]["work_id"]
    stats = (await client.get("/corpus/stats")).json()
    works = (await client.get("/corpus/works")).json()
    content = (await client.get(f"/corpus/work/{tea}/content")).json()
    assert stats == {"total_works": 3, "chunk_stats": {"no_vec": 4, "to_vec": 5, "vec": 0, "vec_err": 0}}
    assert (works["total"], [one["title"] for one in works["works"]]) == (3, ["Cups", "Tea", "The pot"])
    assert set(works["works"][0]) >= {"id", "title", "authors", "sanitized_path"}
    assert works["works"][1]["sanitized_path"] == "tea.md"
    of_content = {"work_id": tea, "work_title": "Tea", "filename": "tea.md", "content": TEA}
    assert content.items() >= of_content.items()
    assert (await client.get("/corpus/stats", params={"corpus": "other"})).json()["total_works"] == 1


async def test_every_unusable_file_is_named_by_its_place_and_nothing_is_imported(client: httpx.AsyncClient) -> None:
    reply = await send_files(
        client,
        ("tea.md", TEA.encode()),
        ("secret-greek.md", "# Τσάι".encode("iso-8859-7")),
        ("book.pdf", b"%PDF"),
        ("empty.md", b"\n"),
        ("matter.md", b"---\ntitle: Tea\nyear: [\n---\n# Tea\n"),
        ("nothing.txt", b""),
    )

    assert problem(reply) == (422, "works-unusable")
    assert [(error["where"], error["message"].split(";")[0]) for error in reply.json()["errors"]] == [
        ("file 2", "byte 2 is not UTF-8"),
        ("file 3", "it is named as pdf and is none"),
        ("file 4", "holds no text."),
        ("file 5", "Line 3: the front matter is not YAML without aliases, of `key: value` lines"),
        ("file 6", "is empty."),
    ]
    assert "secret" not in reply.text
    assert (await client.get("/corpora")).json()["items"] == []


async def test_a_work_has_headings_and_their_chunks(client: httpx.AsyncClient) -> None:
    _, made = (await imported(client, pot=POT, tea=TEA))["files"]
    address = f"/works/{made['work_id']}"

    work = (await client.get(f"/corpus/work/{made['work_id']}/content")).json()
    tea, leaves = work["headings"]
    in_leaves = (await client.get(f"{address}/chunks", params={"heading": leaves["id"]})).json()
    second = (await client.get(f"{address}/chunks", params={"limit": 1, "offset": 1})).json()

    assert (work["title"], work["corpus"], work["chunks"], work["lines"]) == ("Tea", "library", 3, 15)
    assert [(one["text"], one["level"], one["parent_id"], one["chunks"]) for one in work["headings"]] == [
        ("Tea", 1, None, 1),
        ("Leaves", 2, tea["id"], 3),
    ]
    assert [chunk["content"].split("\n")[0] for chunk in in_leaves["items"]] == [
        *("Green leaves.", "| leaf |", "leaf: green.")
    ]
    assert (second["total"], second["next"], second["items"][0]["parent_id"]) == (4, {"offset": 2}, leaves["id"])


async def test_all_works_that_are_named_are_removed_or_none(client: httpx.AsyncClient, connection: Connection) -> None:
    made = await imported(client, tea=TEA, pot=POT, cup="# Cup\n\nA cup.\n")
    of_other = (await imported(client, corpus="other", tea=TEA))["files"][0]["work_id"]
    told_id, _ = await keep(connection, made["corpus_id"], **new_work("# Told\n\nBy heart.\n", source_path="told.md"))
    tea, pot, cup = (file["work_id"] for file in made["files"])
    address = f"/corpora/{made['corpus_id']}/works"

    for wrong in (of_other, 999):
        refused = await client.post(f"{address}/remove", json={"work_ids": [tea, wrong]})
        assert problem(refused) == (404, "work-missing")
        assert f"each of these numbers: {wrong}." in refused.json()["detail"]
    reply = await client.post(f"{address}/remove", json={"work_ids": [pot, told_id, cup, pot]})
    again = await client.post(f"{address}/remove", json={"work_ids": [pot, cup]})

    assert reply.status_code == 204
    left = (await client.get("/corpus/works", params={"corpus": "library"})).json()
    assert [work["id"] for work in left["works"]] == [tea]
    assert (problem(again), f"{pot}, {cup}" in again.json()["detail"]) == ((404, "work-missing"), True)
    assert problem(await client.post("/corpora/999/works/remove", json={"work_ids": [tea]})) == (404, "corpus-missing")
    assert problem(await client.post(f"{address}/remove", json={"work_ids": []})) == (422, "request-invalid")


async def test_a_document_is_shown_by_its_job_and_unusable_replies_are_problems(
    client: httpx.AsyncClient, library: Library, app: FastAPI
) -> None:
    job_id = await library.job()
    await library.run(job_id)

    shown = (await client.get(f"/documents/{job_id}")).json()
    (made,) = (await client.get(f"/jobs/{job_id}/attempts?stage=sanitise&outputs=true")).json()["items"]
    (work,) = (await client.get("/corpus/works")).json()["works"]

    facts = {"job_id": job_id, "work_id": work["id"], "name": "tea.md", "repaired_by": "rules", "changed": 1}
    assert work["job_id"] == job_id and shown.items() >= facts.items()
    assert shown["headings"][1] == {
        "line": 9,
        "level": 3,
        "text": "Leaves",
        "page": None,
        "toc_level": None,
        "action": "H2",
        "repaired_level": 2,
        "repaired_text": "Leaves",
        "work_line": 9,
        "embeds": True,
        "reason": None,
    }
    assert made["output"]["markdown"] == BOOK.replace("### Leaves", "## Leaves")
    asked = (await client.get(f"/documents/{job_id}", params={"prompt": "repair"})).json()
    assert ("Leaves" in asked["prompt"], shown["prompt"]) == (True, None)
    for step, reply in (("repair", "I cannot."), ("selection", "9 : H2")):
        refused = await client.post(f"/documents/{job_id}/{step}/reply", json={"reply": reply})
        assert problem(refused) == (400, "reply-unusable")
