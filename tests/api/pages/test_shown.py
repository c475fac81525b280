"""What pages show people."""

from typing import Final

import httpx
from syrupy.assertion import SnapshotAssertion

from store.database import Connection
from tests.api.pages.example_runs import participant_run
from tests.api.pages.html import lines, see
from tests.services.questions.questions import WHOLE, a_question
from tests.shown import as_read

PAGES: Final = (
    *("/ui/runs", "/ui/runs/1", "/ui/jobs/1", "/ui/jobs/2", "/ui/participants", "/ui/workers"),
    *("/ui/presets", "/ui/presets/1", "/ui/templates", "/ui/corpora", "/ui/corpora/1", "/ui/vocabularies"),
    *("/rag", "/rag/new", "/rag/1", "/rag/1/inspect", "/rag/1/results"),
)


async def test_what_pages_show_is_what_was_read(
    client: httpx.AsyncClient, connection: Connection, snapshot: SnapshotAssertion
) -> None:
    await participant_run(connection)
    await a_question(connection, *WHOLE)

    for path in PAGES:
        page = await see(client, path)
        assert as_read(f"{page.status_code}\n{lines(page)}") == snapshot(name=path)
