"""Which ranker ranks the chunks of a question where its cross-encoder cannot be loaded."""

from typing import Any, Literal

import pytest

from schemas.errors import RerankerUnavailableError
from schemas.settings.preset import RerankingPreset
from schemas.settings.run import thaw
from schemas.values.queries import FusedHit
from store.database import Database
from store.runs import runs, stages
from tests.fakes.pair_scorer import FakePairScorer
from tests.services.questions.questions import FOUND, a_question
from tests.store.scored import claimed
from workers.queries import run_rerank
from workers.work import Work


class NoWeights:
    """The wiring of a process whose cross-encoder cannot be loaded."""

    def pair_scorer(self, model: str) -> FakePairScorer:
        def fail(query: str, passage: str) -> float:
            raise RerankerUnavailableError(f"{model} cannot be loaded")

        return FakePairScorer(fail, name=model)


@pytest.mark.parametrize("without_weights", ["fail", "score-fusion"])
async def test_a_cross_encoder_that_cannot_be_loaded_fails_the_stage_or_gives_way(
    database: Database, without_weights: Literal["fail", "score-fusion"]
) -> None:
    async with database.connection() as connection:
        query = await a_question(connection, "expand", "embed")
        await connection.execute("UPDATE works SET content_hash = encode(sha256(markdown::bytea), 'hex')")
        retrieving = await claimed(connection, query.job_id, "retrieve")
        found = FOUND.model_copy(
            update={"fused": (FusedHit(chunk_id=1, fused_score=1, dense_rank=1, lexical_rank=None),)}
        )
        await stages.commit(connection, retrieving, inputs={}, output=found.model_dump(mode="json"))
        claim = await claimed(connection, query.job_id, "rerank")
        settings = thaw(await runs.settings(connection, query.run_id))
    assert settings.preset is not None
    reranking = RerankingPreset(ranker="cross-encoder", model="bge", without_weights=without_weights)
    preset = settings.preset.model_copy(update={"reranking": reranking})
    wiring: Any = NoWeights()
    ranking = run_rerank(Work(claim, settings.run, database, wiring, {}, preset))

    if without_weights == "fail":
        with pytest.raises(RerankerUnavailableError):
            await ranking
    else:
        assert (await ranking).output.ranker == "score-fusion, without the weights of bge"
