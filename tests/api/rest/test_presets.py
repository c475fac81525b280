"""Presets and templates over REST."""

import httpx

from stages.queries.templates import RULES, TemplateTag, default_template
from tests.api.rest.problems import problem

PRESETS = "/api/rag-config"


async def test_a_preset_is_a_copy_with_changes_every_problem_of_which_is_reported(client: httpx.AsyncClient) -> None:
    body = {"preset_name": " Small one ", "copy_of": "original", "config": {"augmentation": {"top_n_contexts": 3}}}

    made = await client.post(PRESETS, json=body)

    assert (made.status_code, made.headers["location"]) == (201, f"{PRESETS}/Small%20one")
    assert made.json() == (await client.get(made.headers["location"])).json()
    config = made.json()["config"]
    assert (config["augmentation"]["top_n_contexts"], config["retrieval"]["dense_limit"]) == (3, 19)
    assert problem(await client.post(PRESETS, json=body | {"copy_of": "none"})) == (404, "preset-missing")

    wrong = {"retrieval": {"dense_limit": 101, "no_such": 1}, "augmentation": {"top_n_contexts": "x"}}
    refused = await client.put(f"{PRESETS}/original", json={"config": wrong})
    assert problem(refused) == (422, "preset-value-unusable")
    named = ("retrieval.dense_limit", "retrieval.no_such", "augmentation.top_n_contexts")
    assert all(name in refused.json()["detail"] for name in named)

    assert problem(await client.delete(f"{PRESETS}/balanced")) == (400, "preset-is-default")
    assert (await client.delete(f"{PRESETS}/original")).status_code == 204
    left = [(preset["preset_name"], preset["is_default"]) for preset in (await client.get(PRESETS)).json()]
    assert left == [("Balanced", True), ("Small one", False)]


async def test_every_template_has_its_versions_and_placeholders(client: httpx.AsyncClient) -> None:
    found = (await client.get("/settings/templates")).json()["templates"]

    assert [(template["function_tag"], template["active_version"]) for template in found] == [
        (tag, 1) for tag in TemplateTag
    ]
    first = found[0]["versions"][0]
    assert (first["template_content"], first["is_active"]) == (default_template(TemplateTag.QUERY_EXPANSION), True)
    assert {variable["variable_name"] for variable in found[0]["variables"]} == set(
        RULES[TemplateTag.QUERY_EXPANSION].variables
    )
