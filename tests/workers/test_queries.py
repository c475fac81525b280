"""What the stages of a question read, which model and ranker they take, and what they publish meanwhile."""

import asyncio
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, Literal, NamedTuple
from unittest.mock import Mock

import pytest

from schemas.errors import RerankerUnavailableError
from schemas.settings.preset import Preset, RerankingPreset
from schemas.settings.run import thaw
from schemas.values.chat import ChatCall, ModelIdentity
from schemas.values.queries import AugmentedPrompt
from services.questions.steps import Step, run_stages
from store.database import Connection, Database
from store.questions import queries
from store.runs import runs, stages
from store.runs.stages import Claim
from tests.fakes.chat import ScriptedChat, served
from tests.fakes.pair_scorer import FakePairScorer
from tests.services.questions.questions import CONTEXT, FOUND, WHOLE, a_question, complete_stages
from tests.store.scored import claimed, committing, take
from tests.workers.processes import ModelAlone
from workers.ledger_chat import EVERY_SECONDS, published
from workers.queries import run_augment, run_expand, run_generate, run_rerank
from workers.work import Result, StageFunction, Work


async def run_stage(
    database: Database, job_id: int, stage: str, function: StageFunction, model: Any
) -> tuple[Any, dict[str, Any]]:
    """Run a stage of a job with a model, and store it. Its output, and the inputs that it noted."""
    claim = await database.ask(claimed, job_id, stage)
    settings = thaw(await database.ask(runs.settings, claim.run_id))
    wiring: Any = ModelAlone(database, model)
    read: dict[str, Any] = {}
    computed = await function(Work(claim, settings.run, database, wiring, read, settings.preset))
    result = computed if isinstance(computed, Result) else Result(computed)
    output = result.output.model_dump(mode="json")
    await database.ask(stages.commit, claim, inputs=read, output=output, effect=result.effect)
    return result.output, read


@dataclass
class Shows:
    """A server that says which context its models have, or cannot be reached."""

    context_tokens: int | None

    async def identity(self, model: str) -> ModelIdentity:
        if self.context_tokens is None:
            raise ConnectionError
        return served(model, context_tokens=self.context_tokens)


async def augmented(
    database: Database, job_id: int, context_tokens: int | None = None
) -> tuple[AugmentedPrompt, dict[str, Any]]:
    return await run_stage(database, job_id, "augment", run_augment, Shows(context_tokens))


async def test_a_number_of_sources_wins_over_the_preset_until_none_is_given(database: Database) -> None:
    query = await database.ask(a_question, *WHOLE[:6], preset_values={"augmentation.top_n_contexts": "3"})
    by_preset, read_by_preset = await augmented(database, query.job_id)

    await database.ask(run_stages, query.id, Step.ANSWER, top_n=1)
    chosen, read = await augmented(database, query.job_id)
    await database.ask(run_stages, query.id, Step.ANSWER)
    again, _ = await augmented(database, query.job_id)

    assert [len(prompt.sources) for prompt in (by_preset, chosen, again)] == [3, 1, 3]
    assert (read["top_n"], "top_n" in read_by_preset) == (1, False)
    assert chosen.sources[0].start_line == CONTEXT.groups[0].start_line


async def test_a_prompt_fits_the_context_of_the_model_that_is_going_to_answer(database: Database) -> None:
    cases: Any = (({}, 4096, 4096), ({}, None, None), ({"RAGQ_CONTEXT_TOKENS": "2048"}, 4096, 2048))
    for environment, reported, expected in cases:
        query = await database.ask(a_question, *WHOLE[:6], environment=environment)
        asked, read = await augmented(database, query.job_id, reported)
        assert (asked.context_tokens, read.get("context_tokens")) == (expected, expected)


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


async def make(database: Database, job_id: int, stage: str) -> Asked:
    model = ScriptedChat(_reply)
    _, read = await run_stage(database, job_id, stage, STAGES[stage], model)
    (call,) = model.calls
    return Asked(call.model, read.get("model"))


OWN, QUICK = Asked("own", None), Asked("quick", "quick")


async def test_an_expansion_is_by_the_model_that_was_asked_for(database: Database) -> None:
    for environment, light, expected in ((BOTH, False, OWN), (BOTH, True, QUICK), (ONE, True, OWN)):
        # The ledger answers no question that differs.
        asked: dict[str, Any] = {"text": f"{environment}, {light}?", "environment": environment}
        query = await database.ask(a_question, until="expand", use_full_model=not light, **asked)
        assert await make(database, query.job_id, "expand") == expected


@pytest.mark.parametrize(("environment", "expected"), [(BOTH, QUICK), (ONE, OWN)])
async def test_an_answer_is_by_the_model_that_was_asked_for_and_names_it(
    database: Database, environment: dict[str, str], expected: Asked
) -> None:
    query = await database.ask(a_question, *WHOLE[:6], environment=environment)
    made = []
    for light in (True, False):
        await database.ask(run_stages, query.id, Step.ANSWER, use_light_model=light)
        await database.ask(complete_stages, query.job_id, "augment")
        made.append(await make(database, query.job_id, "generate"))

    assert made == [expected, OWN]
    named = [result.model for result in await database.ask(queries.results, query.id)]
    assert named == ["own", expected.model]


@pytest.mark.parametrize("without_weights", ["fail", "score-fusion"])
async def test_a_cross_encoder_that_cannot_be_loaded_fails_the_stage_or_gives_way(
    database: Database, connection: Connection, without_weights: Literal["fail", "score-fusion"]
) -> None:
    query = await a_question(connection, "expand", "embed")
    await connection.execute("UPDATE works SET content_hash = encode(sha256(markdown::bytea), 'hex')")
    found = FOUND.model_copy(update={"fused": FOUND.fused[:1]}).model_dump(mode="json")
    await take(connection, query.job_id, "retrieve", committing(found))
    claim = await claimed(connection, query.job_id, "rerank")
    settings = thaw(await runs.settings(connection, query.run_id))
    reranking = RerankingPreset(ranker="cross-encoder", model="bge", without_weights=without_weights)
    preset = Preset(reranking=reranking)
    unavailable = Mock(side_effect=RerankerUnavailableError("bge cannot be loaded"))
    wiring: Any = SimpleNamespace(pair_scorer=lambda model: FakePairScorer(unavailable, name=model))
    ranking = run_rerank(Work(claim, settings.run, database, wiring, {}, preset))

    if without_weights == "fail":
        with pytest.raises(RerankerUnavailableError):
            await ranking
    else:
        assert (await ranking).ranker == "score-fusion, without the weights of bge"


@pytest.fixture
async def claim(connection: Connection) -> Claim:
    return await claimed(connection, (await a_question(connection, *WHOLE[:7])).job_id, "generate")


async def pieces(connection: Connection) -> list[str]:
    return [row["text"] for row in await connection.fetch("SELECT text FROM answer_piece ORDER BY attempt_id, ordinal")]


async def test_many_pieces_become_few_writes(database: Database, connection: Connection, claim: Claim) -> None:
    async with published(database, claim.attempt_id) as on_text:
        clock = asyncio.get_running_loop().time
        began = clock()
        for _ in range(100):
            on_text("ox\0ygen \ud83d")
            await asyncio.sleep(0.01)
        while "".join(await pieces(connection)) != "oxygen ?" * 100:
            assert clock() - began < 10
            await asyncio.sleep(0.02)
        most = (clock() - began) / EVERY_SECONDS + 1
        written = len(await pieces(connection))

    assert 2 <= written <= most


async def test_neither_nothing_nor_what_the_stored_answer_holds_anyway_is_written(
    database: Database, connection: Connection, claim: Claim
) -> None:
    async with published(database, claim.attempt_id) as on_text:
        on_text("")
        await asyncio.sleep(0.05)
        on_text("By oxygen")

    assert await pieces(connection) == []


async def test_a_database_that_is_away_does_not_fail_the_stage(
    database: Database, connection: Connection, claim: Claim
) -> None:
    await connection.execute("ALTER TABLE answer_piece RENAME TO gone")

    async with published(database, claim.attempt_id) as on_text:
        on_text("By ")
        await asyncio.sleep(0.05)
        on_text("oxygen")
