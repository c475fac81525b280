"""Reports and differences that are printed again without being computed again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli import kept_reports
from schemas.errors import RunMissingError, StackError
from store.database import Connection
from store.runs import deletions
from tests.cli.child_process import Ended, ended
from tests.cli.conftest import Ragq
from tests.cli.test_diff import two_runs

KEPT = "Kept since"

#: Of the first run: what its report, or that of both runs, is computed from.
CHANGES = (
    "UPDATE participant SET items = jsonb_set(items, '{PHQ8_Sleep}', '3') WHERE id = 316",
    "UPDATE stage_attempt SET output = jsonb_set(output, '{items,Sleep,score}', '3') WHERE stage = 'score'",
    "UPDATE stage_attempt SET output = jsonb_set(output, '{repairs}', '[\"json_repair_fallback\"]')",
    "UPDATE stage_attempt SET ended_at = ended_at + interval '1 second'",
    "UPDATE job SET status = 'failed' WHERE subject = '316'",
    "UPDATE run SET settings = jsonb_set(settings, '{MODEL_TEMPERATURE,source}', '\".env\"')",
    "UPDATE run SET request = request || '{\"limit\": 3}'",
    "UPDATE run SET version = '0.0.1'",
    'INSERT INTO run_model (run_id, model, identity, is_from_submission) SELECT id, \'m\', \'{"backend": "ollama", '
    '"server": "s", "model": "m", "digest": "d"}\', true FROM run',
)


@pytest.fixture
def pair(stored: Callable[..., Any]) -> tuple[str, str]:
    cold, hot = stored(two_runs)
    return f"r{cold}", f"r{hot}"


async def kept(connection: Connection) -> int:
    found: int = await connection.fetchval("SELECT count(*) FROM kept_report")
    return found


def printed_again(ragq: Ragq, *command: str) -> None:
    first, again, anew = (ragq(*command, *more) for more in ((), (), ("--recompute",)))

    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout == anew.stdout
    assert [KEPT in shown.stderr for shown in (first, again, anew)] == [False, True, False]


@pytest.mark.parametrize("options", [(), ("--json",), ("--loss", "abs")])
@pytest.mark.parametrize("command", ["report", "diff", "diff of several"])
def test_what_nothing_changed_is_printed_again_as_it_was(
    ragq: Ragq, pair: tuple[str, str], command: str, options: tuple[str, ...]
) -> None:
    runs = {"report": pair[:1], "diff": pair, "diff of several": (*pair, pair[0])}[command]

    printed_again(ragq, command.split()[0], *runs, *options)


@pytest.mark.parametrize("options", [(), ("--json",), ("--only", "time")])
def test_plots_in_the_terminal_are_kept_as_reports_are(
    ragq: Ragq, pair: tuple[str, str], options: tuple[str, ...]
) -> None:
    printed_again(ragq, "plot", *pair, *options)
    assert KEPT not in ragq("plot", pair[0], "--only", "items", "--output", "plots").stderr


def test_a_kept_comparison_that_is_written_to_a_file_is_named_as_kept(ragq: Ragq, pair: tuple[str, str]) -> None:
    command = ("diff", *pair, pair[0], "--csv", "--output", "compared.csv")
    ragq(*command)
    first = Path("compared.csv").read_bytes()

    assert KEPT in ragq(*command).stderr
    assert Path("compared.csv").read_bytes() == first


@pytest.mark.parametrize("change", CHANGES)
def test_a_report_is_computed_again_after_every_change_that_may_matter(
    ragq: Ragq, stored: Callable[..., Any], pair: tuple[str, str], change: str
) -> None:
    async def changed(connection: Connection) -> str:
        done: str = await connection.execute(change)
        return done

    commands = (("report", pair[0]), ("diff", *pair), ("diff", *pair, pair[1]), ("plot", *pair))
    for command in commands:
        ragq(*command)
    assert not stored(changed).endswith(" 0")

    for command in commands:
        shown = ragq(*command)
        assert KEPT not in shown.stderr
        assert shown.stdout == ragq(*command, "--recompute").stdout


def test_words_that_were_changed_in_the_database_are_not_shown(
    ragq: Ragq, stored: Callable[..., Any], pair: tuple[str, str]
) -> None:
    async def forge(connection: Connection) -> None:
        await connection.execute("UPDATE kept_report SET words = replace(words, '0', '1')")

    first = ragq("report", pair[0])
    stored(forge)
    again = ragq("report", pair[0])

    assert (again.stdout, KEPT in again.stderr) == (first.stdout, False)
    assert KEPT in ragq("report", pair[0]).stderr


def test_other_options_code_and_prices_are_computed_by_themselves(
    ragq: Ragq, pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\n[models.scorer]\nprompt = 1.0\nreply = 2.0\n', encoding="utf-8")
    asked = (("report", pair[0]), ("report", pair[0], "--seed", "7"), ("report", pair[1]), ("diff", *pair))
    assert [KEPT in ragq(*one).stderr for one in (*asked, *asked)] == [False] * 4 + [True] * 4

    with_prices = ("report", pair[0], "--prices", str(prices))
    assert [KEPT in ragq(*with_prices).stderr for _ in range(2)] == [False, True]
    prices.write_text(prices.read_text(encoding="utf-8").replace("1.0", "5.0"), encoding="utf-8")
    assert KEPT not in ragq(*with_prices).stderr

    monkeypatch.setattr(kept_reports, "code_digest", lambda: "another commit")
    assert KEPT not in ragq(*asked[0]).stderr


def test_an_option_that_does_not_go_with_the_run_is_refused_though_a_report_is_kept(
    ragq: Ragq, pair: tuple[str, str]
) -> None:
    ragq("report", pair[0])

    refused = ragq("report", pair[0], "--cutoff", "10")

    assert (refused.exit_code, "only for a run of queries" in refused.stderr) == (2, True)


def test_what_is_kept_goes_with_the_runs_and_the_jobs_that_it_is_about(
    ragq: Ragq, stored: Callable[..., Any], pair: tuple[str, str]
) -> None:
    numbers = [int(run.removeprefix("r")) for run in pair]
    _, third = stored(two_runs)
    about_all = ("report", pair[0]), ("report", pair[1]), ("diff", *pair), ("diff", pair[0], f"r{third}", pair[1])
    for command in about_all:
        ragq(*command)
    assert stored(kept) == 4

    async def without_a_job(connection: Connection) -> None:
        job_id = await connection.fetchval("SELECT min(id) FROM job WHERE run_id = $1", numbers[1])
        await deletions.delete_jobs(connection, [job_id])

    stored(without_a_job)
    assert stored(kept) == 1

    stored(deletions.delete_run, numbers[0])
    assert stored(kept) == 0


def test_a_run_that_is_deleted_while_it_is_read_is_missing(
    ragq: Ragq, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(_connection: Connection, _run_id: int) -> None:
        return None

    monkeypatch.setattr(kept_reports, "scored_rows", gone)

    with pytest.raises(RunMissingError):
        ragq("report", pair[0], catch_exceptions=False)


def test_only_the_newest_reports_of_a_run_are_kept(
    ragq: Ragq, stored: Callable[..., Any], pair: tuple[str, str]
) -> None:
    for seed in range(7):
        ragq("report", pair[0], "--bootstrap-resamples", "20", "--seed", str(seed))

    assert stored(kept) == 5
    assert KEPT in ragq("report", pair[0], "--bootstrap-resamples", "20", "--seed", "6").stderr


def test_a_database_that_may_not_be_written_is_reported_from(
    ragq: Ragq, stored: Callable[..., Any], pair: tuple[str, str], database_url: str
) -> None:
    read_only = {"DATABASE_URL": f"{database_url}?default_transaction_read_only=on"}

    first, again = (ragq("report", pair[0], env=read_only) for _ in range(2))

    assert (first.exit_code, first.stdout) == (0, again.stdout)
    assert KEPT not in again.stderr
    assert stored(kept) == 0


def test_a_kept_report_imports_no_statistics(
    ragq: Ragq, pair: tuple[str, str], database_url: str, tmp_path: Path
) -> None:
    servers = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    heavy = ("pydantic", "rich", "numpy", "ir_measures", "rapidfuzz", "httpx", "sqlalchemy", "celery")
    for command in (["report", pair[0]], ["diff", *pair], ["diff", *pair, pair[0]], ["plot", pair[0]]):
        assert ended(command, ("numpy",), folder=tmp_path, environment=servers) == Ended(0, ["numpy"])
        assert ended(command, heavy, folder=tmp_path, environment=servers) == Ended(0, [])


def test_a_database_of_an_older_version_is_to_be_migrated(
    ragq: Ragq, stored: Callable[..., Any], pair: tuple[str, str]
) -> None:
    async def go_back(connection: Connection) -> None:
        await connection.execute("DROP TABLE kept_report")

    stored(go_back)

    with pytest.raises(StackError, match="lacks tables of this version of ragq"):
        ragq("report", pair[0], catch_exceptions=False)
