"""What the stages of a question read: how many sources it shows, which model it asks, and which ranker it has."""

import json
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import pytest

from schemas.errors import RerankerUnavailableError
from schemas.settings.preset import Preset, RerankingPreset
from schemas.settings.run import thaw
from schemas.values.chat import ChatCall, ModelIdentity
from schemas.values.queries import AugmentedPrompt
from services.questions.steps import Step, run_stages
from store.database import Connection, Database
from store.questions import queries
from store.runs import runs
from tests.fakes.chat import ScriptedChat, served
from tests.fakes.pair_scorer import FakePairScorer
from tests.services.questions.questions import CONTEXT, FOUND, WHOLE, a_question, complete_stages
from tests.store.scored import claimed, committing, take
from tests.workers.processes import run_stage
from workers.queries import run_augment, run_expand, run_generate, run_rerank
from workers.work import StageFunction, Work


@dataclass
class Shows:
    """A server that says which context its models have, or cannot be reached."""

    context_tokens: int | None

    async def identity(self, model: str) -> ModelIdentity:
        if self.context_tokens is None:
            raise ConnectionError
        return served(model, context_tokens=self.context_tokens)


async def augmented(
    connection: Connection, database: Database, job_id: int, context_tokens: int | None = None
) -> tuple[AugmentedPrompt, dict[str, Any]]:
    """The output of the stage and its inputs."""
    result, read = await run_stage(connection, database, job_id, "augment", run_augment, Shows(context_tokens))
    return result.output, read


async def test_a_number_of_sources_wins_over_the_preset_until_none_is_given(
    database: Database, connection: Connection
) -> None:
    query = await a_question(connection, *WHOLE[:6], preset_values={"augmentation.top_n_contexts": "3"})
    by_preset, read_by_preset = await augmented(connection, database, query.job_id)

    await run_stages(connection, query.id, Step.ANSWER, top_n=1)
    chosen, read = await augmented(connection, database, query.job_id)
    await run_stages(connection, query.id, Step.ANSWER)
    again, _ = await augmented(connection, database, query.job_id)

    assert [len(prompt.sources) for prompt in (by_preset, chosen, again)] == [3, 1, 3]
    assert (read["top_n"], "top_n" in read_by_preset) == (1, False)
    assert chosen.sources[0].start_line == CONTEXT.groups[0].start_line


@pytest.mark.parametrize(
    ("environment", "reported", "expected"),
    [({}, 4096, 4096), ({}, None, None), ({"RAGQ_CONTEXT_TOKENS": "2048"}, 4096, 2048)],
)
async def test_a_prompt_fits_the_context_of_the_model_that_is_going_to_answer(
    database: Database,
    connection: Connection,
    environment: dict[str, str],
    reported: int | None,
    expected: int | None,
) -> None:
    query = await a_question(connection, *WHOLE[:6], environment=environment)
    asked, read = await augmented(connection, database, query.job_id, reported)

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
    database: Database, connection: Connection, environment: dict[str, str], light: bool, expected: Asked
) -> None:
    query = await a_question(connection, environment=environment, until="expand", use_full_model=not light)

    assert await make(connection, database, query.job_id, "expand") == expected


@pytest.mark.parametrize(
    ("environment", "expected"), [(BOTH, Asked("quick", "quick")), (ONE, Asked("own", None))], ids=["both", "one"]
)
async def test_an_answer_is_by_the_model_that_was_asked_for_and_names_it(
    database: Database, connection: Connection, environment: dict[str, str], expected: Asked
) -> None:
    query = await a_question(connection, *WHOLE[:6], environment=environment)
    made = []
    for light in (True, False):
        await run_stages(connection, query.id, Step.ANSWER, use_light_model=light)
        await complete_stages(connection, query.job_id, "augment")
        made.append(await make(connection, database, query.job_id, "generate"))

    assert made == [expected, Asked("own", None)]
    named = [(result.model, result.is_light) for result in await queries.results(connection, query.id)]
    assert named == [("own", False), (expected.model, expected.noted is not None)]


class NoWeights:
    """The wiring of a process whose cross-encoder cannot be loaded."""

    def pair_scorer(self, model: str) -> FakePairScorer:
        def fail(query: str, passage: str) -> float:
            raise RerankerUnavailableError(f"{model} cannot be loaded")

        return FakePairScorer(fail, name=model)


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
    wiring: Any = NoWeights()
    ranking = run_rerank(Work(claim, settings.run, database, wiring, {}, preset))

    if without_weights == "fail":
        with pytest.raises(RerankerUnavailableError):
            await ranking
    else:
        assert (await ranking).output.ranker == "score-fusion, without the weights of bge"
