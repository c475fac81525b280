"""`ragq export`, `verify` and prices."""

import json
from pathlib import Path

from tests.cli.conftest import Ragq, Stored
from tests.services.marked_run import marked_run


def test_a_run_is_written_to_a_file_and_checked(ragq: Ragq, stored: Stored) -> None:
    stored(marked_run)

    exported = ragq("export", "r1")
    verified = ragq("verify", "r1.ragq.zip", "--json")
    again = ragq("export", "r1")
    data = Path("r1.ragq.zip").read_bytes()
    Path("r1.ragq.zip").write_bytes(data[:200] + b"?" + data[201:])
    changed = ragq("verify", "r1.ragq.zip")

    assert (exported.exit_code, exported.stdout) == (0, "r1.ragq.zip\n"), exported.output
    assert (verified.exit_code, json.loads(verified.stdout)["problems"]) == (0, [])
    assert again.exit_code == 2, "it does not replace a file"
    assert changed.exit_code == 1


def test_the_cost_is_shown_with_prices(ragq: Ragq, stored: Stored) -> None:
    stored(marked_run)
    Path("prices.toml").write_text('currency = "EUR"\n[models.m]\nprompt = 10\nreply = 100\n')
    Path(".env").write_text("RAGQ_PRICES=prices.toml")

    shown = ragq("show", "r1")
    as_json = json.loads(ragq("show", "r1", "--json").stdout)
    report = ragq("report", "r1", "--json", "--bootstrap-resamples", "20")

    assert "1 call paid, 100 + 20 tokens, 0.0030 EUR" in shown.output
    assert as_json["cost"]["total"]["money"] == 0.003
    assert json.loads(report.stdout)["timings"]["cost"]["stages"]["score"]["prompt_tokens"] == 100
