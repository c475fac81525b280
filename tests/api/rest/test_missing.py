"""What is not stored is a 404 with the slug of its kind, at every address that names it."""

from collections.abc import Iterator
from typing import Any, Final

import httpx
from fastapi import FastAPI

from tests.api.rest.problems import problem

#: By the first number or name of an address.
SLUGS: Final = {
    "/rag/queries/{query_id}": "query-missing",
    "/runs/{run_id}": "run-missing",
    "/tags/runs/{run_id}": "run-missing",
    "/jobs/{job_id}": "job-missing",
    "/documents/{job_id}": "job-missing",
    "/api/rag-config/{name}": "preset-missing",
    "/settings/templates/{tag}/{version}": "template-missing",
    "/corpora/{corpus_id}": "corpus-missing",
    "/works/{work_id}": "work-missing",
    "/corpus/work/{work_id}": "work-missing",
    "/vocabularies/{name}": "vocabulary-missing",
}
VALUES: Final = {"step": "repair", "tag": "query_expansion", "stage": "score", "action": "pause", "name": "none"}


def addresses(described: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Method, path and an example of the body of every operation on something that has a number or a name."""
    for path, operations in described["paths"].items():
        if any(path.startswith(named) for named in SLUGS):
            for method, one in operations.items():
                yield method, path, _example(one, described["components"]["schemas"])


def _example(operation: dict[str, Any], components: dict[str, Any]) -> Any:
    if "requestBody" not in operation:
        return None
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    named = schema.get("$ref") or next((one["$ref"] for one in schema.get("anyOf", []) if "$ref" in one), None)
    return None if named is None else next(iter(components[named.rpartition("/")[2]].get("examples", [])), {})


async def test_what_is_not_stored_is_a_404_of_its_kind_everywhere(app: FastAPI, client: httpx.AsyncClient) -> None:
    found, expected = {}, {}
    for method, path, body in addresses(app.openapi()):
        filled = "/".join(VALUES.get(part[1:-1], "99") if part.startswith("{") else part for part in path.split("/"))
        reply = await client.request(method, filled, json=body, params={"other": 98} if "/compare" in path else None)
        of = f"{method} {path}"
        found[of] = problem(reply) if reply.is_error else (reply.status_code, "")
        expected[of] = (404, next(slug for named, slug in SLUGS.items() if path.startswith(named)))

    assert len(found) > 40
    assert found == expected
