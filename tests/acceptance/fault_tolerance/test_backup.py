"""A backup that was written while stages ran is restored elsewhere, and its runs are finished there."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from stack.servers import dump
from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation, Servers
from tests.acceptance.harness import judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

PRIVATE = 0o600
RUNNING = "SELECT count(*) FROM stage_run WHERE status = 'running'"
UNFINISHED = "SELECT count(*) FROM job WHERE status NOT IN ('succeeded', 'failed')"
OUTPUTS = """
SELECT job_id, stage, output FROM stage_attempt WHERE outcome = 'succeeded' AND stage = 'assemble' ORDER BY job_id
"""
DOUBLED = """
SELECT job_id, stage FROM stage_attempt WHERE outcome = 'succeeded' GROUP BY job_id, stage HAVING count(*) > 1
"""


@pytest.fixture
def elsewhere(servers: Servers, breakable: BreakableInstallation, tmp_path: Path) -> BreakableInstallation:
    """An installation whose database is empty, as `ragq up` makes it."""
    name = f"{breakable.database}_restored"
    servers.administer(f'CREATE DATABASE "{name}"')
    other = replace(breakable, database_url=servers.database_url(name), _started=breakable._started)
    other.rows("CREATE EXTENSION vector")
    return other


def test_a_backup_under_load_is_restored_elsewhere_and_continued_without_paying_twice(
    breakable: BreakableInstallation,
    elsewhere: BreakableInstallation,
    servers: Servers,
    judge: ScriptedModel,
    evidence: GiveEvidence,
    tmp_path: Path,
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=0.2)
    workers = [breakable.start_worker(), breakable.start_worker()]
    chosen = (*evidence({316: 3, 319: 3, 330: 3}), *judged_by(judge.name))
    runs = [breakable.submit(*chosen), breakable.submit(*chosen, "--fresh")]
    eventually(lambda: breakable.value(RUNNING) > 1 and judge.calls > 2)
    file = tmp_path / "ragq.dump"

    written = breakable.ragq("db", "backup", str(file), "--json")
    again = breakable.ragq("db", "backup", str(file))
    ends = [breakable.wait_for(run_id) for run_id in runs]
    asked = breakable.value("SELECT count(*) FROM llm_call")
    for worker in workers:
        worker.kill()
    servers.empty_broker()
    restored = elsewhere.ragq("db", "restore", str(file))
    refused = elsewhere.ragq("db", "restore", str(file))
    paid, unfinished = elsewhere.value("SELECT count(*) FROM llm_call"), elsewhere.value(UNFINISHED)
    elsewhere.start_worker()

    assert (written.exit_code, json.loads(written.stdout)["file"]) == (0, str(file))
    assert (stat.S_IMODE(file.stat().st_mode), list(tmp_path.glob("*.partial"))) == (PRIVATE, [])
    assert (again.exit_code, "exists" in again.stderr) == (1, True)
    assert (restored.exit_code, restored.stdout.startswith("Restored ")) == (0, True), restored.stderr
    assert (refused.exit_code, "--replace" in refused.stderr) == (1, True)
    assert unfinished > 1
    assert [elsewhere.wait_for(run_id) for run_id in runs] == ends
    assert [elsewhere.ragq("audit", f"r{run_id}").exit_code for run_id in runs] == [0, 0]
    assert (elsewhere.rows(OUTPUTS), elsewhere.rows(DOUBLED)) == (breakable.rows(OUTPUTS), [])
    assert elsewhere.value("SELECT count(*) FROM llm_call") == asked
    assert judge.calls == asked + asked - paid
    assert elsewhere.ragq("db", "restore", str(file), "--replace").stderr.startswith("ragq: Workers use the database.")


def test_what_is_no_whole_backup_of_this_version_is_refused_and_changes_nothing(
    breakable: BreakableInstallation, elsewhere: BreakableInstallation, tmp_path: Path
) -> None:
    before = breakable.value("SELECT count(*) FROM reference_chunk")

    def refusal(name: str, words: str) -> str:
        refused = breakable.ragq("db", "restore", str(tmp_path / name), "--replace")
        assert (refused.exit_code, words in refused.stderr) == (1, True), refused.stderr
        assert breakable.value("SELECT count(*) FROM reference_chunk") == before
        return refused.stderr

    breakable.do("db", "backup", str(tmp_path / "whole"))
    whole = (tmp_path / "whole").read_bytes()
    # Of the rows, which follow the statements: a changed statement is one that fails.
    middle = len(whole) * 19 // 20
    changed = bytes(255 - byte for byte in whole[middle : middle + 64])
    for name, content in (
        ("text", b"no dump"),
        ("empty", b""),
        ("cut off", whole[:middle]),
        ("without its end", whole[:-1]),
        ("changed", whole[:middle] + changed + whole[middle + 64 :]),
    ):
        (tmp_path / name).write_bytes(content)
        refusal(name, "is damaged")
    refusal("nothing", "")

    elsewhere.rows("CREATE TABLE stage_attempt (id integer)")
    elsewhere.rows("CREATE TABLE alembic_version (version_num text)")
    for name, change, words in (
        ("newer", "INSERT INTO alembic_version VALUES ('ffff0099')", "another version of ragq (revision ffff0099)"),
        ("none", "DELETE FROM alembic_version", "another database than ragq's"),
        ("two", "INSERT INTO alembic_version VALUES ('0001'), ('ffff')", "another database than ragq's"),
        ("other form", "ALTER TABLE alembic_version RENAME version_num TO revision", "another database than ragq's"),
    ):
        elsewhere.rows(change)
        dump(elsewhere.database_url, tmp_path / name)
        assert refusal(name, words).count("\n") == 1
    for arguments in (("restore", str(tmp_path / "whole")), ("migrate",)):
        refused = elsewhere.ragq("db", *arguments)
        assert (refused.exit_code, "tables of another program" in refused.stderr) == (1, True), refused.stderr
