"""Works as an import stores them, without their files."""

from typing import Any

from schemas.statuses import VectorStatus
from schemas.values.documents import Bibliography, CorpusChunk, StoredCorpus
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import cut_work
from store.corpora import corpora, works
from store.corpora.keeping import NewWork
from store.database import Connection

TEA = "# Tea\n\nAbout tea.\n\n## Leaves\n\nGreen leaves.\n\n| leaf |\n|---|\n| green |\n"


def new_work(
    markdown: str = TEA, *, title: str = "Tea", authors: str | None = None, source_path: str | None = "/works/tea.md"
) -> NewWork:
    """A work of one text."""
    return NewWork(
        bibliography=Bibliography(title=title, authors=authors),
        source_path=source_path,
        markdown=markdown,
        chunks=cut_work(read_markdown(markdown), title=title, searches_tables=False),
    )


async def small_corpus(connection: Connection, name: str = "small", **others: Any) -> StoredCorpus:
    """A corpus of two dimensions."""
    made: dict[str, Any] = {"backend": "huggingface", "model": "tiny", "dimension": 2, "embeds_headings": True}
    return await corpora.make(connection, name, **made | others)


async def chunks_of_work(connection: Connection, work_id: int) -> list[tuple[CorpusChunk, VectorStatus]]:
    """The chunks of a work, each section before what is in it, with their status."""
    rows = await connection.fetch("SELECT id, vector_status FROM chunks WHERE work_id = $1 ORDER BY id", work_id)
    found = await works.by_ids(connection, [row["id"] for row in rows])
    return [(found[row["id"]], VectorStatus(row["vector_status"])) for row in rows]
