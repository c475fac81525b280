"""`--dry-run` of submissions and of indexes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels
from tests.store.scored import import_labels

ZERO_SHOT = ("submit", "--participants", "316", "--zero-shot-only")


@pytest.fixture(autouse=True)
def participant(stored: Stored) -> None:
    """A participant with a transcript."""
    stored(import_labels, {316: labels("2")})


async def runs(connection: Any) -> int:
    found: int = await connection.fetchval("SELECT count(*) FROM run")
    return found


def test_a_dry_run_is_printed_and_nothing_is_stored(ragq: Ragq, stored: Stored, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('currency = "EUR"\n[models."m"]\nprompt = 1\nreply = 2\n')
    (tmp_path / ".env").write_text("RAGQ_PRICES=prices.toml")

    shown = ragq(*ZERO_SHOT, "--dry-run")
    found = json.loads(ragq(*ZERO_SHOT, "--dry-run", "--json").stdout)
    several = json.loads(ragq(*ZERO_SHOT, "--dry-run", "--samples", "2", "--json").stdout)

    assert shown.exit_code == 0, shown.stdout
    assert "1 job (1 zero_shot), profile demo; nothing was stored or sent" in shown.stdout
    assert "money: N/A" in shown.stdout and "no past run of kind participant" in shown.stdout
    assert (found["jobs"], list(found["stages"])) == (1, ["extract", "assemble", "score"])
    assert len(several) == 2
    assert stored(runs) == 0
