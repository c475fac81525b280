"""The pages of corpora and works, and the form that imports works."""

from typing import Any

import httpx
import pytest

from api.context import ApiContext
from api.pages.work import PAGE_CHUNKS
from api.rest.bodies.corpora import MAX_FILES
from store.corpora import corpora
from tests.api.pages.html import HTML, form, see, send, words
from tests.api.works import POT, TEA, imported
from tests.services.questions.questions import a_question

NEW = "/works/new"


async def upload(
    client: httpx.AsyncClient, *files: tuple[str, bytes], corpus: str = "", name: str = "", **values: str
) -> httpx.Response:
    """The reply to the form of an import into a corpus, or into a new one of this name."""
    shown = await see(client, NEW, **({"corpus": corpus} if corpus else {}))
    values |= {"corpus": corpus or name}
    fields = {name: value for name, value in form(shown, NEW).items() if name and name != "files"}
    sent = [("files", (name, content, "text/markdown")) for name, content in files]
    return await client.post(NEW, headers=HTML, data=fields | values, files=sent)


async def test_corpora_are_listed_with_their_numbers(client: httpx.AsyncClient) -> None:
    assert "No corpus yet" in words(await see(client, "/corpora"))
    made = await imported(client)

    shown = await see(client, "/corpora")

    assert f'href="/corpora/{made["corpus_id"]}">library</a>' in shown.text
    assert "4 waiting" in words(shown)
    assert "english" in words(shown)


async def test_a_corpus_is_found_by_its_name(client: httpx.AsyncClient) -> None:
    made = await imported(client)

    found = await client.get("/corpora", params={"name": "library"}, headers=HTML)

    assert (found.status_code, found.headers["location"]) == (303, f"/corpora/{made['corpus_id']}")
    assert "There is no corpus “other”" in words(await see(client, "/corpora", name="other"))


async def test_a_corpus_shows_its_embedder_its_runs_and_what_is_missing(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    made = await imported(client)
    async with ctx.database.connection() as connection:
        await connection.execute("UPDATE job SET status = 'failed' WHERE mode = 'corpus'")

    shown = await see(client, f"/corpora/{made['corpus_id']}")

    assert "384 dimensions" in words(shown)
    assert "exact scan; an index is built from 20,000 chunks" in words(shown)
    assert f'Retry <a href="/runs/{made["run_id"]}">' in shown.text
    assert "4 chunks could not be embedded" in words(shown)
    assert "1 failed" in words(shown)


async def test_works_are_searched(client: httpx.AsyncClient) -> None:
    address = f"/corpora/{(await imported(client))['corpus_id']}"

    found = await see(client, address, search="leaf")

    assert "1 work found." in words(found)
    assert ("A. Leaf" in found.text, "The pot" in found.text) == (True, False)
    assert "No work matches." in words(await see(client, address, search="none"))


async def test_a_work_shows_its_headings_and_the_chunks_of_one(client: httpx.AsyncClient) -> None:
    made = await imported(client, tea=TEA)
    work = (await client.get(f"/works/{made['files'][0]['work_id']}")).json()
    address = f"/works/{work['id']}"

    whole = words(await see(client, address))
    leaves = await see(client, address, heading=work["headings"][1]["id"])

    assert "Tea 5–15 · 1 Leaves 9–15 · 3" in whole
    assert "line 7 H1-chunk 2 words ○ waits for its vector" in whole
    assert "table, not embedded" in whole
    assert "Chunks of “Leaves” 3" in words(leaves)
    assert "About tea." not in words(leaves)


async def test_the_lines_of_a_chunk_lead_to_the_text(client: httpx.AsyncClient) -> None:
    made = await imported(client, tea="x\n\n" * 400 + "# Tea\n\nGreen.\n")
    address = f"/works/{made['files'][0]['work_id']}"

    chunks = (await client.get(f"{address}/chunks")).json()
    last = await see(client, address, part=-(-chunks["total"] // PAGE_CHUNKS))
    text = await see(client, address, line=803)

    assert f'href="{address}?line=803#L803">line 803' in last.text
    assert '<li id="L803" value="803"><code>Green.</code></li>' in text.text


async def test_files_are_uploaded_into_a_new_corpus(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    files = (("tea.md", TEA.encode()), ("pot.md", POT.encode()))
    reply = await upload(client, *files, name="library", embed_headings="true")

    async with ctx.database.connection() as connection:
        made = await corpora.find(connection, "library")
    assert made is not None
    assert made.embeds_headings
    assert (reply.status_code, reply.headers["location"]) == (
        303,
        f"/corpora/{made.id}?new=2&replaced=0&unchanged=0",
    )
    opened = words(await see(client, reply.headers["location"]))
    assert "Works imported: 2 new." in opened
    assert "Embedding Run 1" in opened


async def test_the_size_of_chunks_is_chosen_for_a_new_corpus_and_what_is_lost_is_shown(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    long = ("tea.md", ("# Tea\n\n" + "Leaves of polyphenols oxidise catechins. " * 60).encode())
    for name, tokens in (("small", "64"), ("words", "0")):
        assert (await upload(client, long, name=name, chunk_tokens=tokens)).status_code == 303
    async with ctx.database.connection() as connection:
        small, by_words = [await corpora.find(connection, name) for name in ("small", "words")]
        assert small is not None
        assert by_words is not None

    assert "chunks of at most 64 tokens" in words(await see(client, f"/corpora/{small.id}"))
    shown = words(await see(client, f"/corpora/{by_words.id}"))
    assert "chunks of 200 to 300 words" in shown
    assert "it never sees" in shown
    wrong = await upload(client, long, name="other", chunk_tokens="many")
    assert (wrong.status_code, "Write a whole number, or nothing." in words(wrong)) == (422, True)
    assert (await upload(client, long, name="other", chunk_tokens="999")).status_code == 422


async def test_a_refused_file_is_named_and_the_others_are_imported(client: httpx.AsyncClient) -> None:
    await imported(client, tea=TEA)

    reply = await upload(client, ("copy.md", TEA.encode()), ("pot.md", POT.encode()), corpus="library")

    assert "1 file was refused; the others are imported." in words(reply)
    assert "copy.md: the same text is work 1 already, &#39;Tea&#39;" in words(reply)
    assert (await client.get("/corpora")).json()["corpora"][0]["works"] == 2


async def test_documents_open_the_run_that_makes_works_of_them(client: httpx.AsyncClient) -> None:
    reply = await upload(client, ("pot.html", b"<!doctype html><h1>Pot</h1>"), corpus="library")

    assert reply.status_code == 303
    run = (await client.get(reply.headers["location"], headers={"Accept": "application/json"})).json()["run"]
    assert (run["kind"], run["jobs"]) == ("work", 1)


async def test_a_file_that_cannot_be_read_is_named_and_the_others_are_imported(client: httpx.AsyncClient) -> None:
    files = (("latin.md", b"# Caf\xe9\n"), ("a.pdf", b"%PDF-1.7"), ("nul.md", b"\0"), ("pot.md", POT.encode()))
    reply = await upload(client, *files, corpus="library")
    nothing = await upload(client, ("nul.md", b"\0"), corpus="library")

    shown = words(reply)
    assert (reply.status_code, "1 file was refused" in shown) == (200, True)
    assert [name in shown for name in ("nul.md: ", "a.pdf: ", "Latin-1 (look at their accents): latin.md")] == [
        True,
        False,
        True,
    ]
    assert (await client.get("/corpora")).json()["corpora"][0]["works"] == 2
    assert (nothing.status_code, "Nothing was imported" in words(nothing)) == (422, True)


@pytest.mark.parametrize(
    ("files", "values", "message"),
    [
        ([("tea.md", b"# Tea\n")] * (MAX_FILES + 1), {}, f"One import takes {MAX_FILES} files"),
        ([("a.md", b"# A\n"), ("b.md", b"# B\n")], {"title": "Both"}, "A title is for one file"),
        ([("a.md", b"# A\n")], {"year": "soon"}, "Write the year as a whole number."),
    ],
)
async def test_a_wrong_field_is_named_beside_it(
    client: httpx.AsyncClient, files: Any, values: dict[str, str], message: str
) -> None:
    await imported(client, tea=TEA)

    reply = await upload(client, *files, corpus="library", **values)

    assert (reply.status_code, message in words(reply)) == (422, True)


async def test_a_form_without_a_file_asks_for_one(client: httpx.AsyncClient) -> None:
    shown = await see(client, NEW)
    token = form(shown, NEW)["csrf_token"]
    parts = (
        ('name="csrf_token"', token),
        ('name="corpus"', "library"),
        # What a browser sends for a field of files that is empty.
        ('name="files"; filename=""\r\nContent-Type: application/octet-stream', ""),
    )
    body = "".join(f"--x\r\nContent-Disposition: form-data; {head}\r\n\r\n{value}\r\n" for head, value in parts)

    reply = await client.post(
        NEW, headers=HTML | {"Content-Type": "multipart/form-data; boundary=x"}, content=f"{body}--x--\r\n"
    )

    assert (reply.status_code, "Choose at least one file." in words(reply)) == (422, True)


async def test_a_corpus_is_deleted_after_a_warning_that_counts_what_goes(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection)
        corpus_id = await connection.fetchval("SELECT corpus_id FROM queries WHERE id = $1", query.id)
    shown = await see(client, f"/corpora/{corpus_id}")
    assert "and 1 question with 0 answers" in words(shown)

    gone = await send(client, shown, f"/corpora/{corpus_id}/delete")

    assert (gone.status_code, gone.headers["location"]) == (303, "/corpora")
    assert (await see(client, f"/corpora/{corpus_id}")).status_code == 404


async def test_an_import_is_estimated_before_it_and_nothing_is_stored(
    client: httpx.AsyncClient, ctx: ApiContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ("page.html", b"<!doctype html><h1>Tea</h1><p>Leaves.</p>")
    shown = words(await upload(client, ("tea.md", TEA.encode()), page, name="library", check="true"))
    monkeypatch.setitem(ctx.environment, "RAGQ_REPAIR_BY", "model")
    asking = words(await upload(client, ("tea.md", TEA.encode()), page, name="library", check="true"))

    assert "Dry run: markdown that is stored at once Nothing was stored or sent. 1 job" in shown
    assert "Dry run: stages of documents" in shown and "at most 0 ," in shown
    assert "markdown that is stored at once" not in asking and "model calls: at most N/A ," in asking
    assert "Model calls have no bound yet: it follows from the headings of a document, and 1 document is not" in asking
    assert "No corpus yet" in words(await see(client, "/corpora"))
    monkeypatch.undo()
    await imported(client, tea=TEA)
    again = words(await upload(client, ("tea.md", TEA.encode()), corpus="library", check="true"))
    assert "none of these files is new or changed" in again
