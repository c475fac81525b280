"""`ragq query`: what its commands print as JSON, and the deletion of a question."""

import json
from pathlib import Path

import pytest

from schemas.errors import MissingError
from tests.cli.conftest import Ragq, Stored
from tests.services.questions.questions import PROMPT, WHOLE, a_question

STEPS = WHOLE[:-1]


def test_a_prompt_a_pasted_answer_and_their_deletion_after_a_question(ragq: Ragq, stored: Stored) -> None:
    query = stored(a_question, *STEPS)
    number = str(query.id)
    Path("reply.txt").write_text("Because of its catechins [S1].")

    prompt = json.loads(ragq("query", "prompt", number, "--json").stdout)
    answered = json.loads(ragq("query", "answer", number, "reply.txt", "--json").stdout)
    kept = ragq("query", "delete", number)
    deleted, gone = [ragq("query", "delete", number, "--yes") for _ in range(2)]

    assert prompt == {"query": query.id, **PROMPT.model_dump(mode="json")}
    assert answered == {"query": query.id, "answer": 1}
    assert kept.exit_code == 1
    assert f"Delete question {query.id} of r{query.run_id} with 1 answer?" in kept.stderr
    assert (deleted.exit_code, deleted.stdout) == (0, f"Deleted question {query.id} and 1 answer.\n")
    assert isinstance(gone.exception, MissingError)


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_the_deletion_of_a_corpus_is_one_json_object(ragq: Ragq, stored: Stored, yes: tuple[str, ...]) -> None:
    stored(a_question)

    deleted = ragq("corpus", "delete", "small", *yes, "--json", input="y\n")

    assert json.loads(deleted.stdout) == {"deleted": "small", "works": 1}
