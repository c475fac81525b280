"""`ragq submit --after RUN`: a run begins when another one has succeeded, whoever is killed meanwhile."""

from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.harness import judged_by
from tests.eventually import eventually
from tests.scripted_ollama import ScriptedModel, ScriptedReply

ORDER = """
SELECT (SELECT min(a.started_at) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1)
    > (SELECT max(a.ended_at) FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $2)
"""


def test_a_run_begins_after_another_although_a_worker_is_killed_between(
    install: Install, indexed_template: str, judge: ScriptedModel, evidence: GiveEvidence
) -> None:
    with install(indexed_template) as installation:
        installation.settings |= {"RAGQ_LEASE_SECONDS": "1"}
        alone = installation.start_worker(RAGQ_CRASH_AT="before_commit@validate#1")
        work = (*evidence({316: 1}), *judged_by(judge.name))
        first = installation.submit(*work)
        second = installation.submit(*work, "--new", "--after", f"r{first}")
        third = installation.submit(*work, "--new", "--after", f"r{second}")
        eventually(lambda: not alone.is_alive)
        assert f"Waits until r{first} has succeeded." in installation.ragq("show", f"r{second}").stdout
        installation.start_worker()

        assert installation.ragq("watch", f"r{third}").exit_code == 0
        assert installation.value(ORDER, second, first) and installation.value(ORDER, third, second)

        judge.answer = lambda prompt: ScriptedReply("useless")
        failing = installation.submit(*work, "--fresh")
        waiting = installation.submit(*work, "--new", "--after", f"r{failing}", "--name", "never")
        assert installation.ragq("watch", "never").exit_code == 3
        assert installation.wait_for(waiting) == {"cancelled": 1}
        assert f"r{failing}, which it waited for, did not succeed." in installation.ragq("show", "never").stdout
        refused = installation.ragq("submit", *work, "--after", "r999", "--new")
        assert (refused.exit_code, "r999" in refused.stderr) == (1, True)
