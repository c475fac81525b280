"""`ragq submit --notify URL`: a run's end is told once it is accepted, whoever is killed meanwhile."""

import json
import time

from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.harness import judged_by
from tests.eventually import eventually
from tests.receiver import SECRET, receiver
from tests.scripted_ollama import ScriptedModel


def test_the_end_of_a_run_is_told_although_the_worker_is_killed_while_it_tells(
    install: Install, indexed_template: str, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    with receiver() as found, install(indexed_template) as installation:
        work = (*evidence({316: 1}), *judged_by(judge.name))
        refused = installation.ragq("submit", *work, "--notify", found.url)
        assert (refused.exit_code, "RAGQ_WEBHOOK_SECRET" in refused.stderr) == (1, True)
        installation.settings["RAGQ_WEBHOOK_SECRET"] = SECRET
        refused = installation.ragq("submit", *work, "--notify", found.url)
        assert (refused.exit_code, "RAGQ_WEBHOOK_ALLOW_PRIVATE=true" in refused.stderr) == (1, True)
        installation.settings["RAGQ_WEBHOOK_ALLOW_PRIVATE"] = "true"

        def never() -> int:
            time.sleep(10)
            return 204

        found.answer = never
        alone = installation.start_worker()
        run = installation.submit(*work, "--notify", found.url)
        eventually(lambda: bool(found.messages))
        alone.kill()
        found.answer = lambda: 500
        # What was claimed is not sent again for a minute.
        installation.rows("UPDATE run_notification SET due_at = now()")
        installation.start_worker()
        eventually(lambda: len(found.messages) == 2)
        eventually(lambda: "status 500; sent again" in installation.ragq("show", f"r{run}").stdout)
        found.answer = lambda: 204
        installation.rows("UPDATE run_notification SET due_at = now()")
        eventually(lambda: "accepted at" in installation.ragq("show", f"r{run}").stdout)

        killed, failed, accepted = found.messages
        assert all(one.is_signed for one in found.messages)
        assert killed.headers["webhook-id"] == failed.headers["webhook-id"] == accepted.headers["webhook-id"]
        assert killed.body == failed.body == accepted.body
        message = json.loads(accepted.body)
        assert message.keys() == {"type", "timestamp", "data"} and message["type"] == "run.finished"
        assert message["data"] == {"run_id": run, "states": {"succeeded": 1}}
        shown = json.loads(installation.ragq("show", f"r{run}", "--json").stdout)
        assert shown["notification"]["receiver"].startswith("http://127.0.0.1:")
        assert "/hook" not in json.dumps(shown)
        assert "/hook" not in installation.logs and SECRET not in installation.logs

        again = installation.submit(*work, "--notify", found.url)
        assert again == run
        eventually(lambda: len(found.messages) == 4)
        assert found.messages[3].headers["webhook-id"] != accepted.headers["webhook-id"]
