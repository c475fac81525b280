"""A question asks the light model of its run on request, and the model of all questions otherwise."""

import json
from typing import Final, NamedTuple

import pytest

from schemas.values.chat import ChatCall
from services.questions.steps import Step, run_stages
from store.database import Connection, Database
from store.questions import queries
from tests.fakes.chat import ScriptedChat
from tests.services.questions.questions import WHOLE, a_question, complete_stages
from tests.workers.processes import run_stage
from workers.queries import run_expand, run_generate
from workers.work import StageFunction

STAGES: Final[dict[str, StageFunction]] = {"expand": run_expand, "generate": run_generate}
EXPANSION: Final = {"queries": ["tea", "leaf", "oxygen"], "hyde_answer": "Air.", "intent": "MECHANISM", "entities": []}
BOTH: Final = {"RAGQ_QUERY_MODEL": "own", "RAGQ_QUERY_LIGHT_MODEL": "quick"}
ONE: Final = {"RAGQ_QUERY_MODEL": "own"}


class Asked(NamedTuple):
    """Which model a stage asked, and which one its attempt noted as input."""

    model: str
    noted: str | None


def _reply(call: ChatCall) -> str:
    return json.dumps(EXPANSION) if call.purpose == "expand query" else "By oxygen [S1]."


async def make(connection: Connection, database: Database, job_id: int, stage: str) -> Asked:
    """Run a stage that asks a model."""
    model = ScriptedChat(_reply)
    _, read = await run_stage(connection, database, job_id, stage, STAGES[stage], model)
    (call,) = model.calls
    return Asked(call.model, read.get("model"))


@pytest.mark.parametrize(
    ("environment", "light", "expected"),
    [(BOTH, False, Asked("own", None)), (BOTH, True, Asked("quick", "quick")), (ONE, True, Asked("own", None))],
)
async def test_an_expansion_is_by_the_model_that_was_asked_for(
    database: Database, environment: dict[str, str], light: bool, expected: Asked
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, environment=environment, until="expand", use_full_model=not light)

        assert await make(connection, database, query.job_id, "expand") == expected


@pytest.mark.parametrize(
    ("environment", "expected"), [(BOTH, Asked("quick", "quick")), (ONE, Asked("own", None))], ids=["both", "one"]
)
async def test_an_answer_is_by_the_model_that_was_asked_for_and_names_it(
    database: Database, environment: dict[str, str], expected: Asked
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, *WHOLE[:6], environment=environment)
        made = []
        for light in (True, False):
            await run_stages(connection, query.id, Step.ANSWER, use_light_model=light)
            await complete_stages(connection, query.job_id, "augment")
            made.append(await make(connection, database, query.job_id, "generate"))

        assert made == [expected, Asked("own", None)]
        named = [(result.model, result.is_light) for result in await queries.results(connection, query.id)]
        assert named == [("own", False), (expected.model, expected.noted is not None)]
