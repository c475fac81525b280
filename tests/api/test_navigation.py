"""The sections that every page lists."""

import httpx


async def test_the_root_leads_every_client_to_the_questions(client: httpx.AsyncClient) -> None:
    for accepted in ["*/*", "text/html", "application/json"]:
        for method in ("GET", "HEAD"):
            root = await client.request(method, "/", headers={"Accept": accepted})
            assert (root.status_code, root.headers["location"]) == (303, "/rag")

        shown = await client.get("/rag", headers={"Accept": accepted})

        assert (shown.status_code, "<h1>Questions</h1>" in shown.text) == (200, True)
