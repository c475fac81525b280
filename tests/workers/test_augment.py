"""The prompt shows as many sources as were asked for, or as many as the preset has."""

from typing import Any

import pytest

from schemas.values.chat import ModelIdentity
from schemas.values.queries import AugmentedPrompt
from services.questions.steps import Step, run_stages
from store.database import Connection, Database
from tests.fakes.chat import served
from tests.services.questions.questions import CONTEXT, WHOLE, a_question
from tests.workers.processes import run_stage
from workers.queries import run_augment


class Shows:
    """A server that says which context its models have, or cannot be reached."""

    def __init__(self, context_tokens: int | None) -> None:
        self._context_tokens = context_tokens

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel."""
        if self._context_tokens is None:
            raise ConnectionError
        return served(model, context_tokens=self._context_tokens)


async def make(
    connection: Connection, database: Database, job_id: int, context_tokens: int | None = None
) -> tuple[AugmentedPrompt, dict[str, Any]]:
    """The output of the stage and its inputs."""
    result, read = await run_stage(connection, database, job_id, "augment", run_augment, Shows(context_tokens))
    return result.output, read


async def test_a_number_of_sources_wins_over_the_preset_until_none_is_given(database: Database) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE[:6], preset_values={"augmentation.top_n_contexts": "3"})
        by_preset, read_by_preset = await make(connection, database, query.job_id)

        await run_stages(connection, query.id, Step.ANSWER, top_n=1)
        chosen, read = await make(connection, database, query.job_id)
        await run_stages(connection, query.id, Step.ANSWER)
        again, _ = await make(connection, database, query.job_id)

        assert [len(prompt.sources) for prompt in (by_preset, chosen, again)] == [3, 1, 3]
        assert (read["top_n"], "top_n" in read_by_preset) == (1, False)
        assert chosen.sources[0].start_line == CONTEXT.groups[0].start_line


@pytest.mark.parametrize(
    ("environment", "reported", "expected"),
    [
        ({}, 4096, 4096),
        ({}, None, None),
        ({"RAGQ_CONTEXT_TOKENS": "2048"}, 4096, 2048),
    ],
)
async def test_a_prompt_fits_the_context_of_the_model_that_is_going_to_answer(
    database: Database, environment: dict[str, str], reported: int | None, expected: int | None
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE[:6], environment=environment)
        asked, read = await make(connection, database, query.job_id, reported)

    assert (asked.context_tokens, read.get("context_tokens")) == (expected, expected)
