"""The pages of a run that another program, or another database, computed."""

from pathlib import Path

import httpx

from api.context import ApiContext
from services.bundles.export import export_run
from services.bundles.import_run import import_bundle
from services.imported_results import ResultsFile, import_results
from stages.participants.original_results import parse_original_run
from tests.api.pages.html import see, words
from tests.cli.test_plot import ranked_run
from tests.original_results import experiment, failed, results_file, subject
from tests.services.bundles.rows import marked_run


async def test_run_and_jobs_show_that_the_results_were_imported(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    data = results_file(experiment("few_shot", subject(316, "1-000000", "20000000"), failed(319, "I wake at four")))
    run = parse_original_run(data, file="few_shot.json").value
    assert run is not None
    async with ctx.database.connection() as connection:
        stored = await import_results(connection, ResultsFile("few_shot.json", "0" * 64, run))

    page = await see(client, f"/runs/{stored.run_id}")

    assert "Imported from ai-psychiatrist (run 1a2b3c4d" in words(page)
    assert "I wake at four" not in page.text
    for job_id in (1, 2):
        assert (await see(client, f"/jobs/{job_id}")).status_code == 200
    assert (await see(client, f"/runs/{stored.run_id}/plots")).status_code == 200
    refused = await client.post(f"/runs/{stored.run_id}/retry", headers={"Accept": "application/json"})
    assert refused.status_code == 409
    assert "was imported and cannot be retried" in refused.text


async def test_a_run_of_a_bundle_is_shown_and_marked(
    client: httpx.AsyncClient, ctx: ApiContext, tmp_path: Path
) -> None:
    async with ctx.database.connection() as connection:
        for number, stored in enumerate(((await marked_run(connection)).run_id, await ranked_run(connection))):
            await export_run(connection, stored, tmp_path / f"{number}.zip")
        imported = [await import_bundle(connection, tmp_path / f"{number}.zip") for number in range(2)]

    for found in imported:
        page = await see(client, f"/runs/{found.run_id}")
        assert "nothing of it was computed here" in words(page)
        assert "MARKED" not in page.text
        assert (await see(client, f"/runs/{found.run_id}/plots")).status_code == 200
        assert (await see(client, f"/runs/{found.run_id}/report.html")).status_code == 200
    async with ctx.database.connection() as connection:
        jobs = await connection.fetch("SELECT id FROM job WHERE origin_id IS NOT NULL")
    for job in jobs:
        assert (await see(client, f"/jobs/{job['id']}")).status_code == 200
    assert "imported" in words(await see(client, "/runs"))
