"""`ragq export`, `verify` and `import-run`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Ragq
from tests.services.bundles.rows import marked_run


def test_a_run_goes_through_a_file_into_the_database_again(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(marked_run)

    exported = ragq("export", "r1")
    verified = ragq("verify", "r1.ragq.zip", "--json")
    imported = ragq("import-run", "r1.ragq.zip", "--json")
    shown = ragq("show", "r2")
    compared = ragq("diff", "r1", "r2", "--json", "--bootstrap-resamples", "20")

    assert (exported.exit_code, exported.stdout) == (0, "r1.ragq.zip\n"), exported.output
    assert (verified.exit_code, json.loads(verified.stdout)["problems"]) == (0, [])
    assert json.loads(imported.stdout)["run_id"] == "r2"
    assert "nothing of it was computed here" in " ".join(shown.output.split())
    assert json.loads(compared.stdout)[0]["deltas"]["item_mae_weighted"]["delta"]["value"] == 0
    assert "imported" in ragq("runs").stdout
    assert ragq("audit", "r2").exit_code == 0
    assert "r1: r1 of" not in imported.stdout
    assert ragq("export", "r1").exit_code == 2, "it does not replace a file"


def test_a_changed_byte_is_named(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(marked_run)
    ragq("export", "r1")
    bundle = Path("r1.ragq.zip")
    data = bytearray(bundle.read_bytes())
    at = data.index(b"rows/attempts.jsonl.gz") + 200
    data[at] ^= 1
    bundle.write_bytes(bytes(data))

    found = ragq("verify", "r1.ragq.zip")

    assert found.exit_code == 1
    assert "rows/attempts.jsonl.gz" in found.stdout.splitlines()[0]
    assert ragq("import-run", "r1.ragq.zip").exit_code == 1


def test_an_anchor_is_written_once_and_then_checked(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(marked_run)

    written = ragq("audit", "--anchor", "anchor.json", "--json")
    checked = ragq("audit", "--anchor", "anchor.json", "--json")
    stored(changed_reply)
    changed = ragq("audit", "r1", "--anchor", "anchor.json")
    stored(deleted)
    gone = ragq("audit", "--anchor", "anchor.json")

    assert (json.loads(written.stdout)["anchor"], json.loads(checked.stdout)["anchor"]) == ("written", "checked")
    assert "MARKED" not in Path("anchor.json").read_text()
    assert (changed.exit_code, changed.stdout.splitlines()[0]) == (
        1,
        "r1: replies of language models changed after the anchor was written",
    )
    assert (gone.exit_code, gone.stdout.splitlines()[0]) == (1, "r1: the anchor has this run, and it is not stored")
    Path("other.json").write_text("{}")
    assert "is no anchor" in str(ragq("audit", "--anchor", "other.json").exception)


async def changed_reply(connection: Any) -> None:
    await connection.execute("UPDATE llm_call SET reply = reply || '.'")


async def deleted(connection: Any) -> None:
    await connection.execute("DELETE FROM run")


def test_the_cost_is_shown_with_prices(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(marked_run)
    Path("prices.toml").write_text('currency = "EUR"\n[models.m]\nprompt = 10\nreply = 100\n')

    shown = ragq("show", "r1", "--prices", "prices.toml")
    as_json = json.loads(ragq("show", "r1", "--json", "--prices", "prices.toml").stdout)
    report = ragq("report", "r1", "--prices", "prices.toml", "--json", "--bootstrap-resamples", "20")

    assert "1 call paid, 100 + 20 tokens, 0.0030 EUR" in shown.output
    assert as_json["cost"]["total"]["money"] == 0.003
    assert json.loads(report.stdout)["timings"]["cost"]["stages"]["score"]["prompt_tokens"] == 100
