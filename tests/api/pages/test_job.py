"""The page of a job."""

import re

import httpx

from store.database import Connection
from tests.api.pages.example_runs import MODEL_REPLY, ShownRun
from tests.api.pages.html import see, words


async def test_every_attempt_shows_its_error_and_its_private_details(
    client: httpx.AsyncClient, shown: ShownRun
) -> None:
    page = await see(client, f"/jobs/{shown.failed}")
    text = words(page)
    assert "validate, attempt 1" in text and "validate, attempt 2" in text
    assert text.count(MODEL_REPLY) == 2
    shown_at_once = re.sub(r"(?s)<details.*?</details>", "", page.text)
    assert MODEL_REPLY not in shown_at_once
    assert "The validator&#39;s reply holds no verdict" in shown_at_once


async def test_an_output_of_another_form_is_shown_field_by_field(
    client: httpx.AsyncClient, connection: Connection, shown: ShownRun
) -> None:
    await connection.execute("""UPDATE stage_attempt SET output = '{"strange": "as it is"}' WHERE output IS NOT NULL""")

    page = await see(client, f"/jobs/{shown.succeeded}")

    assert (page.status_code, "1 field: strange" in words(page)) == (200, True)
