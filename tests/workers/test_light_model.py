"""A question asks the light model of its run on request, and the model of all questions otherwise."""

import json
from typing import Any, Final, NamedTuple

import pytest

from schemas.settings.frozen import thaw
from schemas.settings.process import LLMLimits
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall
from services.questions.steps import Step, take_step
from store.database import Connection, Database
from store.questions import queries
from store.runs import stages, stored_runs
from tests.fakes.chat import ScriptedChat
from tests.services.questions.questions import WHOLE, a_question, complete_stages
from workers.call_limits import CallLimits
from workers.frozen import FrozenModels
from workers.ledger_chat import InFlightCalls
from workers.queries import run_expand, run_generate
from workers.work import StageFunction, Work

STAGES: Final[dict[str, StageFunction]] = {"expand": run_expand, "generate": run_generate}
EXPANSION: Final = {"queries": ["tea", "leaf", "oxygen"], "hyde_answer": "Air.", "intent": "MECHANISM", "entities": []}
BOTH: Final = {"RAGQ_QUERY_MODEL": "own", "RAGQ_QUERY_LIGHT_MODEL": "quick"}
ONE: Final = {"RAGQ_QUERY_MODEL": "own"}


class Asked(NamedTuple):
    """Which model a stage asked, and which one its attempt noted as input."""

    model: str
    noted: str | None


class Server:
    """The wiring of a process that has a language model and nothing else."""

    def __init__(self, database: Database) -> None:
        self.in_flight_calls = InFlightCalls()
        self.frozen_models = FrozenModels(database)
        self.call_limits = CallLimits(database, LLMLimits())
        self.model = ScriptedChat(_reply)

    def chat(self, _: RunSettings) -> ScriptedChat:
        """The same for all settings."""
        return self.model


def _reply(call: ChatCall) -> str:
    return json.dumps(EXPANSION) if call.purpose == "expand query" else "By oxygen [S1]."


async def make(connection: Connection, database: Database, job_id: int, stage: str) -> Asked:
    """Run a stage that asks a model."""
    claim = await stages.claim(connection, job_id, stage, "worker", 60)
    assert claim is not None
    settings = thaw(await stored_runs.settings(connection, claim.run_id))
    server: Any = Server(database)
    read: dict[str, Any] = {}
    result = await STAGES[stage](Work(claim, settings.run, database, server, read, settings.preset))
    await stages.commit(
        connection, claim, inputs=read, output=result.output.model_dump(mode="json"), effect=result.effect
    )
    (call,) = server.model.calls
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
            await take_step(connection, query, Step.ANSWER, use_light_model=light)
            await complete_stages(connection, query.job_id, "augment")
            made.append(await make(connection, database, query.job_id, "generate"))

        assert made == [expected, Asked("own", None)]
        named = [(result.model, result.is_light) for result in await queries.results(connection, query.id)]
        assert named == [("own", False), (expected.model, expected.noted is not None)]
