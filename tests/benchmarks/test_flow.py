"""The benchmarks of many jobs and of many runs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.flow import flow
from benchmarks.reads import COMMANDS, read_of, reads
from benchmarks.statements import name_of


def test_the_summary_of_starts_is_in_milliseconds() -> None:
    found = read_of([0.1, 0.2, 0.3], [0.01, 0.02, 0.03])

    assert (round(found.p50_ms), round(found.p95_ms), round(found.cpu_ms)) == (200, 290, 20)


def test_a_statement_has_a_short_name_without_comments() -> None:
    assert name_of("\n-- why\nSELECT  1\nFROM job\n") == "SELECT 1 FROM job"
    assert len(name_of("x" * 1000)) == 60


@pytest.mark.long
def test_a_few_jobs_are_submitted_cancelled_retried_and_drained(tmp_path: Path) -> None:
    results = tmp_path / "flow.json"

    done = CliRunner().invoke(flow, ["--sizes", "30", "--drain-seconds", "1", "--json", str(results)])

    assert done.exit_code == 0, done.output
    (size,) = json.loads(results.read_text())["sizes"]
    assert set(size["commands"]) == {"submit", "cancel", "submit again", "retry"}
    assert any("stage_run" in statement["name"] for statement in size["statements"])


@pytest.mark.long
def test_every_command_reads_a_database_of_a_few_runs(tmp_path: Path) -> None:
    results = tmp_path / "reads.json"

    done = CliRunner().invoke(reads, ["--runs", "10", "--participants", "60", "--turns", "2", "--json", str(results)])

    assert done.exit_code == 0, done.output
    found = json.loads(results.read_text())
    assert found["stage_rows"] == 10 * 60 * 10
    assert list(found["commands"]) == [" ".join(words) for words in COMMANDS]
