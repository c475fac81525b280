"""Questions beside a busy language model: cancelled ones hold nobody up."""

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, SHORT
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply


@pytest.fixture
def shelved(install: Install, shelf_template: str) -> Iterator[Installation]:
    """The shelf, a worker of models, and one for the language model that takes one stage at a time."""
    with install(shelf_template) as installation:
        installation.start_worker(stages=("model",))
        installation.start_worker(stages=("llm",), concurrency=1)
        yield installation


@pytest.fixture
def never_done(ollama: ScriptedOllama) -> ScriptedModel:
    """A model whose answers do not come before the test ends."""
    return ollama.model(lambda prompt: ScriptedReply("late", delay_s=120))


def ask(installation: Installation, question: str, *options: str) -> int:
    asked = ("--query", question, "--corpus", "shelf", "--no-expand", "--until", "generate", *SHORT)
    return installation.submit(*asked, *options)


def test_a_cancelled_call_ends_at_the_server_and_the_next_question_is_answered(
    shelved: Installation, never_done: ScriptedModel, ollama: ScriptedOllama
) -> None:
    quick = ollama.model(lambda prompt: ScriptedReply("Oxygen darkens it [S1]."))
    stuck = ask(shelved, QUESTION, "--set", f"RAGQ_QUERY_MODEL={never_done.name}")
    shelved.wait_until("SELECT count(*) = 1 FROM stage_run WHERE stage = 'generate' AND status = 'running'")
    later = ask(shelved, QUESTION, "--set", f"RAGQ_QUERY_MODEL={quick.name}")

    assert shelved.ragq("cancel", f"r{stuck}").exit_code == 0

    assert shelved.wait_for(later) == {"succeeded": 1}
    assert never_done.abandoned == 1
    (attempt,) = shelved.inspect(stuck, "generate")
    assert (attempt["outcome"], attempt["error"]["type"]) == ("interrupted", "JobCancelled")
    assert shelved.ragq("audit", f"r{stuck}").exit_code == 0
