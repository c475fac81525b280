"""Corpora over REST: their sizes, works and imports."""

import httpx

from store.database import Connection
from store.runs import overviews
from tests.api.rest.problems import problem
from tests.api.works import POT, TEA, imported
from tests.store.query_runs import store_corpus


async def send_files(client: httpx.AsyncClient, *files: tuple[str, bytes], **fields: str) -> httpx.Response:
    """The reply to an upload."""
    return await client.post(
        "/corpora/files", data={"corpus": "library", **fields}, files=[("files", file) for file in files]
    )


async def test_corpora_are_listed_by_name_with_their_sizes(client: httpx.AsyncClient, connection: Connection) -> None:
    await store_corpus(connection, ["tea", "bridges"], name="small")
    await store_corpus(connection, [], name="empty")

    found = (await client.get("/corpora")).json()["corpora"]

    assert [(corpus["name"], corpus["works"]) for corpus in found] == [("empty", 0), ("small", 2)]
    assert (found[1]["searchable_chunks"], found[1]["model"]) == (0, "tiny")
    assert (found[1]["language"], found[1]["full_text"]) == ("english", "english")
    assert (await client.get("/corpora", params={"name": "small"})).json()["corpora"] == found[1:]


async def test_texts_are_imported_and_a_run_embeds_them(client: httpx.AsyncClient, connection: Connection) -> None:
    made = await imported(client)

    assert [(file["file_name"], file["outcome"]) for file in made["files"]] == [("tea.md", "new"), ("pot.md", "new")]
    assert (made["waiting"], made["jobs"]) == (4, 1)
    run = await overviews.get(connection, made["run_id"])
    assert (run.kind, run.request["corpus"], run.request["chunks"]) == ("index", "library", 4)
    shown = (await client.get(f"/corpora/{made['corpus_id']}")).json()
    numbers = {name: shown[name] for name in ("works", "sections", "searchable", "waiting", "failed", "tables", "cut")}
    assert numbers == {"works": 2, "sections": 3, "searchable": 0, "waiting": 4, "failed": 0, "tables": 1, "cut": 0}
    assert (shown["dimension"], shown["embeds_headings"], shown["has_vector_index"]) == (384, True, False)


async def test_an_import_states_what_became_of_each_file(client: httpx.AsyncClient) -> None:
    first = await imported(client)

    again = await send_files(client, ("/folder/tea.md", TEA.encode()), ("copy.md", POT.encode()))
    replaced = await imported(client, tea=TEA + "\nBlack leaves.\n")

    tea, pot = (file["work_id"] for file in first["files"])
    assert (again.status_code, again.headers["location"]) == (200, f"/corpora/{first['corpus_id']}")
    assert [(file["outcome"], file["work_id"]) for file in again.json()["files"]] == [
        ("unchanged", tea),
        ("refused", pot),
    ]
    assert (again.json()["run_id"], again.json()["jobs"]) == (None, 0)
    assert [(file["outcome"], file["work_id"]) for file in replaced["files"]] == [("replaced", tea)]


async def test_files_are_imported_by_upload(client: httpx.AsyncClient) -> None:
    reply = await send_files(client, ("C:\\works\\tea.md", TEA.encode()), ("pot.markdown", POT.encode()))

    made = reply.json()
    assert reply.status_code == 201
    assert [file["file_name"] for file in made["files"]] == ["tea.md", "pot.markdown"]
    assert (made["waiting"], made["run_id"]) == (4, 1)


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
    assert (await client.get("/corpora")).json()["corpora"] == []


async def test_a_work_has_headings_and_their_chunks(client: httpx.AsyncClient) -> None:
    made = await imported(client, tea=TEA)
    address = f"/works/{made['files'][0]['work_id']}"

    work = (await client.get(address)).json()
    tea, leaves = work["headings"]
    in_leaves = (await client.get(f"{address}/chunks", params={"heading": leaves["id"]})).json()
    second = (await client.get(f"{address}/chunks", params={"limit": 1, "offset": 1})).json()

    assert (work["title"], work["corpus"], work["chunks"], work["lines"]) == ("Tea", "library", 4, 15)
    assert [(one["text"], one["level"], one["parent_id"], one["chunks"]) for one in work["headings"]] == [
        ("Tea", 1, None, 1),
        ("Leaves", 2, tea["id"], 3),
    ]
    assert [chunk["content"].split("\n")[0] for chunk in in_leaves["chunks"]] == [
        *("Green leaves.", "| leaf |", "leaf: green.")
    ]
    assert (second["total"], second["next_offset"], second["chunks"][0]["parent_id"]) == (4, 2, leaves["id"])


async def test_the_original_client_reads_works_and_their_text(client: httpx.AsyncClient) -> None:
    made = await imported(client)
    await imported(client, corpus="other", cup="# Cups\n\nSmall.\n")
    tea = made["files"][0]["work_id"]

    stats = (await client.get("/corpus/stats")).json()
    works = (await client.get("/corpus/works")).json()
    content = (await client.get(f"/corpus/work/{tea}/content")).json()

    assert stats == {"total_works": 3, "chunk_stats": {"no_vec": 4, "to_vec": 5, "vec": 0, "vec_err": 0}}
    assert (works["total"], [one["title"] for one in works["works"]]) == (3, ["Cups", "The pot", "Tea"])
    assert set(works["works"][0]) >= {"id", "title", "authors", "sanitized_path"}
    assert works["works"][-1]["sanitized_path"] == "tea.md"
    assert content == {"work_id": tea, "work_title": "Tea", "filename": "tea.md", "content": TEA}
    assert (await client.get("/corpus/stats", params={"corpus": "other"})).json()["total_works"] == 1
