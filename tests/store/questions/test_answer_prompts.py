"""The prompt that an answer was given to."""

from services.questions.steps import Step, run_stages
from stages.texts.characters import short_hash
from store.database import Connection
from store.questions import answers, presets
from tests.services.questions.questions import PROMPT, WHOLE, a_question


async def test_a_prompt_is_found_by_its_hash_whatever_came_after_it(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)
    await run_stages(connection, query.id, Step.RETRIEVE)

    assert await answers.prompt(connection, query.job_id, short_hash(PROMPT.prompt)) == PROMPT.prompt
    assert await answers.prompt(connection, query.job_id, short_hash("another")) is None
    assert await answers.prompt(connection, query.job_id + 1, short_hash(PROMPT.prompt)) is None


async def test_a_prompt_from_before_a_move_to_another_preset_is_found(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)
    await presets.create(connection, "Broad", {"retrieval.dense_limit": 30})
    moved = await run_stages(connection, query.id, Step.RETRIEVE, preset="Broad")

    assert moved.job_id != query.job_id
    assert await answers.prompt(connection, moved.job_id, short_hash(PROMPT.prompt)) == PROMPT.prompt
