"""The pages of corpora and works, and the form that imports works."""

import httpx

from api.rest.corpora import MAX_FILES
from store.corpora import corpora
from store.database import Connection
from tests.api.pages.html import HTML, form, see, send, words
from tests.api.works import POT, TEA, imported
from tests.services.questions.questions import a_question

NEW = "/ui/works/new"


async def upload(
    client: httpx.AsyncClient, *files: tuple[str, bytes], corpus: str = "", name: str = "", **values: str
) -> httpx.Response:
    """The reply to the form of an import into a corpus, or into a new one of this name."""
    shown = await see(client, NEW, **({"corpus": corpus} if corpus else {}))
    values |= {"corpus": corpus or name}
    fields = {name: value for name, value in form(shown, NEW).items() if name and name != "files"}
    sent = [("files", (name, content, "text/markdown")) for name, content in files]
    return await client.post(NEW, headers=HTML, data=fields | values, files=sent)


async def test_files_are_uploaded_into_a_new_corpus(client: httpx.AsyncClient, connection: Connection) -> None:
    files = (("tea.md", TEA.encode()), ("pot.md", POT.encode()))
    reply = await upload(client, *files, name="library")

    made = await corpora.find(connection, "library")
    assert made is not None
    assert made.embeds_headings
    assert (reply.status_code, reply.headers["location"]) == (303, f"/ui/corpora/{made.id}?imported=2")
    opened = words(await see(client, reply.headers["location"]))
    assert "Works that are new or replaced: 2." in opened
    assert "Embedding Run 1" in opened


async def test_a_refused_file_and_a_wrong_field_are_named_and_other_files_imported(client: httpx.AsyncClient) -> None:
    await imported(client, tea=TEA)

    reply = await upload(client, ("copy.md", TEA.encode()), ("pot.md", POT.encode()), corpus="library")

    assert "1 file was refused; the others are imported." in words(reply)
    assert "copy.md: the same text is work 1 already, &#39;Tea&#39;" in words(reply)
    assert (await client.get("/corpora")).json()["items"][0]["works"] == 2
    for files, message in [
        ([("tea.md", b"# Tea\n")] * (MAX_FILES + 1), f"One import takes {MAX_FILES} files"),
        ([], "Choose at least one file."),
    ]:
        reply = await upload(client, *files, corpus="library")
        assert (reply.status_code, message in words(reply)) == (422, True)


async def test_a_corpus_is_deleted_after_a_warning_that_counts_what_goes(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    query = await a_question(connection)
    corpus_id = await connection.fetchval("SELECT corpus_id FROM queries WHERE id = $1", query.id)
    shown = await see(client, f"/ui/corpora/{corpus_id}")
    assert "and 1 question with 0 answers" in words(shown)

    gone = await send(client, shown, f"/ui/corpora/{corpus_id}/delete")

    assert (gone.status_code, gone.headers["location"]) == (303, "/ui/corpora")
    assert (await see(client, f"/ui/corpora/{corpus_id}")).status_code == 404
