"""Prompt templates over REST."""

import httpx

from stages.queries.templates import RULES, TemplateTag, default_template

TEMPLATES = "/settings/templates"
TAG = f"{TEMPLATES}/query_expansion"
NEW = {"title": "Shorter", "template_content": "Ask {n} times: {query}"}


async def test_every_template_has_its_versions_and_placeholders(client: httpx.AsyncClient) -> None:
    found = (await client.get(TEMPLATES)).json()["templates"]

    assert [(template["function_tag"], template["active_version"]) for template in found] == [
        (tag, 1) for tag in TemplateTag
    ]
    first = found[0]["versions"][0]
    assert (first["template_content"], first["is_active"]) == (default_template(TemplateTag.QUERY_EXPANSION), True)
    assert {variable["variable_name"] for variable in found[0]["variables"]} == set(
        RULES[TemplateTag.QUERY_EXPANSION].variables
    )


async def test_a_new_version_is_used_when_it_is_activated(client: httpx.AsyncClient) -> None:
    added = await client.post(TAG, json=NEW)

    assert (added.status_code, added.headers["location"]) == (201, f"{TAG}/2")
    assert (added.json()["version"], added.json()["is_active"]) == (2, False)
    assert added.json() == (await client.get(f"{TAG}/2")).json()

    assert (await client.put(f"{TAG}/2/activate")).json()["is_active"] is True
    found = (await client.get(TAG)).json()
    assert [(version["version"], version["is_active"]) for version in found] == [(2, True), (1, False)]
    assert (await client.get(TEMPLATES)).json()["templates"][0]["active_version"] == 2
