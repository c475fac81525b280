"""Prompt templates over REST."""

import httpx

from stages.queries.templates import RULES, TemplateTag, default_template

TEMPLATES = "/settings/templates"


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
