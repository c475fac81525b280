"""Works imported over the API, without workers: their chunks wait for vectors."""

from typing import Any

import httpx

TEA = """\
---
authors: A. Leaf
year: 2019
---
# Tea

About tea.

## Leaves

Green leaves.

| leaf |
|---|
| green |
"""
POT = "# The pot\n\nIt is hot.\n"


async def imported(client: httpx.AsyncClient, *, corpus: str = "library", **texts: str) -> Any:
    """The reply to an import of these texts, by the names of their files without `.md`."""
    files = [("files", (f"{name}.md", text.encode())) for name, text in (texts or {"tea": TEA, "pot": POT}).items()]
    reply = await client.post("/corpora/files", data={"corpus": corpus}, files=files)
    assert reply.status_code in (200, 201), reply.text
    return reply.json()
