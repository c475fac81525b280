"""A backup that was written while stages ran is restored elsewhere, and its runs are finished there."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.fault_tolerance.breakable import BreakableInstallation, Servers, eventually
from tests.acceptance.harness import judged_by
from tests.scripted_ollama import ScriptedModel, ScriptedReply

PRIVATE = 0o600


@pytest.fixture
def elsewhere(servers: Servers, breakable: BreakableInstallation, tmp_path: Path) -> BreakableInstallation:
    """An installation whose database is empty, as `ragq up` makes it."""
    name = f"{breakable.database}_restored"
    servers.administer(f'CREATE DATABASE "{name}"')
    other = replace(breakable, database_url=servers.database_url(name), _started=breakable._started)
    other.rows("CREATE EXTENSION vector")
    return other


def test_interrupted_runs_of_a_backup_are_finished_after_it_is_restored(
    breakable: BreakableInstallation,
    elsewhere: BreakableInstallation,
    servers: Servers,
    judge: ScriptedModel,
    evidence: GiveEvidence,
    tmp_path: Path,
) -> None:
    judge.answer = lambda prompt: ScriptedReply(delay_s=600 if judge.calls > 2 else 0)
    worker = breakable.start_worker()
    run_id = breakable.submit(*evidence({316: 4}), *judged_by(judge.name))
    eventually(lambda: judge.calls > 2)
    file = tmp_path / "ragq.dump"

    written = breakable.ragq("backup", str(file), "--json")
    again = breakable.ragq("backup", str(file))
    worker.kill()
    servers.empty_broker()
    restored = elsewhere.ragq("restore", str(file))
    refused = elsewhere.ragq("restore", str(file))

    assert (written.exit_code, json.loads(written.stdout)["file"]) == (0, str(file))
    assert (stat.S_IMODE(file.stat().st_mode), list(tmp_path.glob("*.partial"))) == (PRIVATE, [])
    assert (again.exit_code, "exists" in again.stderr) == (1, True)
    assert (restored.exit_code, restored.stdout.startswith("Restored ")) == (0, True), restored.stderr
    assert (refused.exit_code, "--replace" in refused.stderr) == (1, True)
    judge.answer = lambda prompt: ScriptedReply()
    elsewhere.start_worker()
    assert elsewhere.wait_for(run_id) == {"succeeded": 1}
    assert elsewhere.ragq("audit", f"r{run_id}").exit_code == 0
    assert elsewhere.ragq("restore", str(file), "--replace").stderr.startswith("ragq: Workers use the database.")
    # Only the call that was open when the worker was killed is made again.
    assert judge.calls == len(judge.calls_per_prompt) + 1


def test_what_is_no_whole_backup_is_refused_and_changes_nothing(
    breakable: BreakableInstallation, tmp_path: Path
) -> None:
    before = breakable.value("SELECT count(*) FROM reference_chunk")
    assert breakable.ragq("backup", str(tmp_path / "whole")).exit_code == 0
    whole = (tmp_path / "whole").read_bytes()
    middle = len(whole) * 3 // 4
    damaged = {
        "text": b"no dump",
        "empty": b"",
        "cut off": whole[:middle],
        "without its end": whole[:-1],
        "changed": whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 64]) + whole[middle + 64 :],
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        refused = breakable.ragq("restore", str(tmp_path / name), "--replace")

        assert (refused.exit_code, "is damaged" in refused.stderr) == (1, True), (name, refused.stderr)
        assert breakable.value("SELECT count(*) FROM reference_chunk") == before
    assert breakable.ragq("restore", str(tmp_path / "nothing")).exit_code == 1
