"""`ragq set`: names, notes and priorities; and `ragq purge --run`."""

import json

import pytest

from store.runs import runs
from tests.cli.conftest import Ragq, Stored
from tests.store.conftest import new_run


@pytest.fixture
def run_ids(stored: Stored) -> list[int]:
    """Two runs."""
    return [stored(runs.store, new_run(), always_new=True).run_id for _ in range(2)]


def test_a_name_stands_for_the_run_in_every_command(ragq: Ragq, run_ids: list[int]) -> None:
    ragq("set", str(run_ids[0]), "--name", "Baseline")

    assert json.loads(ragq("show", "baseline", "--json").stdout)["overview"]["id"] == run_ids[0]
    assert ragq("pause", "BASELINE").stdout == f"1 job of r{run_ids[0]} paused.\n"
    wrong = ragq("show", "other")
    assert wrong.exit_code == 2
    assert "'other' is neither the number of a run, like r12, nor a run's name." in wrong.stderr
    assert ragq("pause", "12").exit_code == 2


def test_no_two_runs_have_the_same_name_and_the_remedy_works(ragq: Ragq, run_ids: list[int]) -> None:
    first, second = run_ids
    ragq("set", str(first), "--name", "baseline")

    refused = ragq("set", str(second), "--name", "BaseLine")

    assert refused.exit_code == 1
    assert f"`ragq set r{first} --name ''`" in str(refused.exception)
    assert ragq("set", f"r{first}", "--name", "").exit_code == 0
    assert ragq("set", str(second), "--name", "BaseLine").exit_code == 0


def test_the_priority_of_a_run_is_changed(ragq: Ragq, run_ids: list[int]) -> None:
    first, second = run_ids

    lowered = ragq("set", f"r{first}", "--priority", "bulk")
    raised = ragq("set", f"r{second}", "--priority", "interactive", "--json")

    assert lowered.stdout == f"r{first}: priority stored.\n"
    assert json.loads(raised.stdout)["priority"] == "interactive"
    listed = {run["id"]: run for run in json.loads(ragq("runs", "--json").stdout)}
    assert listed[first]["priority"] == "bulk"
    refused = ragq("set", f"r{first}", "--priority", "interactiv")
    assert (refused.exit_code, "did you mean 'interactive'" in refused.stderr.lower()) == (2, True)


def test_an_active_run_is_refused_and_the_remedy_works(ragq: Ragq, run_ids: list[int]) -> None:
    run = f"r{run_ids[0]}"

    refused = ragq("purge", "--run", run, "--yes")

    assert refused.exit_code == 1
    assert f"`ragq cancel {run}` ends them" in str(refused.exception)
    assert ragq("cancel", run).exit_code == 0
    assert json.loads(ragq("purge", "--run", run, "--yes", "--json").stdout)["purged"][0]["jobs"] == 1
    assert ragq("purge", "--run", run, "--yes").exit_code == 1
