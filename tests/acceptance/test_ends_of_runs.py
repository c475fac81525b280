"""What follows the end of a run, whoever is killed meanwhile: `--after RUN` and `--notify URL`."""

import json
import time

from tests.acceptance.conftest import GiveEvidence
from tests.acceptance.harness import Installation, judged_by
from tests.eventually import eventually
from tests.receiver import SECRET, receiver
from tests.scripted_ollama import ScriptedModel, ScriptedReply

ORDER = """
SELECT (SELECT min(a.started_at) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1)
    > (SELECT max(a.ended_at) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $2)
"""


def test_a_run_begins_after_another_although_a_worker_is_killed_between(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    fresh.settings |= {"RAGQ_LEASE_SECONDS": "1"}
    alone = fresh.start_worker(RAGQ_CRASH_AT="before_commit@validate#1")
    work = (*evidence({316: 1}), *judged_by(judge.name))
    first = fresh.submit(*work)
    second = fresh.submit(*work, "--new", "--after", f"r{first}")
    third = fresh.submit(*work, "--new", "--after", f"r{second}")
    eventually(lambda: not alone.is_alive)
    assert f"Waits until r{first} has succeeded." in fresh.ragq("show", f"r{second}").stdout
    fresh.start_worker()

    fresh.do("watch", f"r{third}")
    assert fresh.value(ORDER, second, first) and fresh.value(ORDER, third, second)

    judge.answer = lambda prompt: ScriptedReply("useless")
    failing = fresh.submit(*work, "--fresh")
    waiting = fresh.submit(*work, "--new", "--after", f"r{failing}", "--name", "never")
    assert fresh.ragq("watch", "never").exit_code == 3
    assert fresh.wait_for(waiting) == {"cancelled": 1}
    assert f"r{failing}, which it waited for, did not succeed." in fresh.ragq("show", "never").stdout
    refused = fresh.ragq("submit", *work, "--after", "r999", "--new")
    assert (refused.exit_code, "r999" in refused.stderr) == (1, True)


def test_the_end_of_a_run_is_told_although_the_worker_is_killed_while_it_tells(
    fresh: Installation, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    work = (*evidence({316: 1}), *judged_by(judge.name), "--notify")
    with receiver() as found:
        for name, value in (("RAGQ_WEBHOOK_SECRET", SECRET), ("RAGQ_WEBHOOK_ALLOW_PRIVATE", "true")):
            refused = fresh.ragq("submit", *work, found.url)
            assert (refused.exit_code, name in refused.stderr) == (1, True)
            fresh.settings[name] = value

        def never() -> int:
            time.sleep(10)
            return 204

        found.answer = never
        alone = fresh.start_worker()
        run = fresh.submit(*work, found.url)
        eventually(lambda: bool(found.messages))
        alone.kill()
        found.answer = lambda: 500
        # What was claimed is not sent again for a minute.
        fresh.rows("UPDATE run_notification SET due_at = now()")
        fresh.start_worker()
        eventually(lambda: len(found.messages) == 2)
        eventually(lambda: "status 500; sent again" in fresh.ragq("show", f"r{run}").stdout)
        found.answer = lambda: 204
        fresh.rows("UPDATE run_notification SET due_at = now()")
        eventually(lambda: "accepted at" in fresh.ragq("show", f"r{run}").stdout)

        assert len(found.messages) == 3 and all(one.is_signed for one in found.messages)
        ((webhook_id, body),) = {(one.headers["webhook-id"], one.body) for one in found.messages}
        message = json.loads(body)
        assert message.keys() == {"type", "timestamp", "data"} and message["type"] == "run.finished"
        assert message["data"] == {"run_id": run, "states": {"succeeded": 1}}
        shown = fresh.ragq("show", f"r{run}", "--json")
        assert shown.json["notification"]["receiver"].startswith("http://127.0.0.1:")
        assert "/hook" not in shown.stdout + fresh.logs and SECRET not in fresh.logs

        assert fresh.submit(*work, found.url) == run
        eventually(lambda: len(found.messages) == 4)
        assert found.messages[3].headers["webhook-id"] != webhook_id
