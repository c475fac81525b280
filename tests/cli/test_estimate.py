"""`--dry-run` of submissions and of indexes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store.vocabularies import vocabularies
from tests.cli.conftest import Ragq
from tests.stages.reports.builders import labels
from tests.stages.tags.clothes import CLOTHES
from tests.store.scored import import_labels

Stored = Callable[..., Any]
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

    shown = ragq(*ZERO_SHOT, "--dry-run", "--prices", "prices.toml")
    found = json.loads(ragq(*ZERO_SHOT, "--dry-run", "--json").stdout)
    several = json.loads(ragq(*ZERO_SHOT, "--dry-run", "--samples", "2", "--json").stdout)

    assert shown.exit_code == 0, shown.stdout
    assert "1 job (1 zero_shot), profile demo; nothing was stored or sent" in shown.stdout
    assert "money: N/A" in shown.stdout and "no past run of kind participant" in shown.stdout
    assert (found["jobs"], list(found["stages"])) == (1, ["extract", "assemble", "score"])
    assert len(several) == 2
    assert stored(runs) == 0


def test_what_is_missing_ends_with_exit_code_1(ragq: Ragq) -> None:
    missing = ragq("submit", "--participants", "316", "--few-shot-only", "--dry-run")

    assert missing.exit_code == 1
    assert "missing: Data set" in missing.stdout


@pytest.mark.parametrize("command", [ZERO_SHOT, ("index", "chunk-scores", "--scorer-model", "gemma3:12b")])
def test_prices_go_with_a_dry_run(ragq: Ragq, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "prices.toml").write_text('currency = "EUR"\n[models]\n')

    assert "--prices goes with --dry-run" in ragq(*command, "--prices", "prices.toml").stderr


def test_indexes_chunk_scores_and_vocabularies_are_estimated(ragq: Ragq, stored: Stored) -> None:
    stored(vocabularies.keep, "clothes", CLOTHES)

    tags = json.loads(ragq("index", "tags", "clothes", "--dry-run", "--json").stdout)
    index = ragq("index", "references", "--dry-run", "--json")
    chunks = ragq("index", "chunk-scores", "--scorer-model", "m", "--dry-run", "--json")

    assert (tags["jobs"], list(tags["stages"]), tags["missing"]) == (1, ["embed"], [])
    assert (index.exit_code, chunks.exit_code) == (1, 1)
    assert "Split 'paper-train'" in json.loads(index.stdout)["missing"][0]
    assert "There is no reference index" in json.loads(chunks.stdout)["missing"][0]
    assert stored(runs) == 0
