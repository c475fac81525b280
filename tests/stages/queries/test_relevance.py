"""Whether a corpus answers a question."""

import json
from importlib import resources

import numpy as np
import pytest

from schemas.errors import NothingRelevantError
from stages.queries.relevance import Evidence, FloorModel, evidence, floor_models
from stages.queries.validate import refuse_below
from tests.fakes.embedder import FakeEmbedder
from tests.stages.queries.builders import chunk, reranked
from tests.stages.queries.test_extract_answer import TEA, terms, word_counts


async def test_the_best_of_the_passages_and_of_their_sentences_count() -> None:
    chunks = [reranked(chunk(1, "A bridge bears load.")), reranked(chunk(2, TEA))]
    embedder = FakeEmbedder(word_counts)

    found = await evidence("oxidation makes milk", chunks, embedder=embedder, terms=terms, timeout_s=9)
    nothing = await evidence("oxidation makes milk", chunks[:1], embedder=embedder, terms=terms, timeout_s=9)

    assert found is not None and nothing is not None
    assert found.sentence_coverage == pytest.approx(2 / 3) and found.passage_coverage == 1
    assert found.sentence_cosine > found.sentences_cosine > nothing.sentence_cosine
    assert (nothing.sentence_coverage, nothing.passage_coverage) == (0, 0)


def test_each_number_raises_the_probability_as_its_weight_says() -> None:
    model = FloorModel((1.0, 2.0, 0.0, 0.0), -1.0)

    assert model.probability(Evidence(1.0, 0.0, 0.0, 0.0)) == 0.5
    assert model.probability(Evidence(1.0, 1.0, 1.0, 1.0)) == pytest.approx(1 / (1 + np.exp(-2)))


def test_the_shipped_model_has_its_record_and_prefers_nearer_passages() -> None:
    record = json.loads((resources.files("stages.queries") / "relevance.json").read_text("utf-8"))

    for name, model in floor_models().items():
        assert {"fitted", "fitted_on", "measured_on_the_other_half"} <= record["embedders"][name].keys()
        assert model.probability(Evidence(0.3, 0.3, 0.2, 0.2)) < 0.5 < model.probability(Evidence(0.8, 0.8, 1.0, 1.0))


def test_a_question_below_the_floor_is_refused_with_the_way_round() -> None:
    refuse_below(0.5, 0.5)
    with pytest.raises(NothingRelevantError) as caught:
        refuse_below(0.49, 0.5)

    caught.value.advise(7, 3, "validate")

    assert "`ragq fork j3 --from validate --set RAGQ_RELEVANCE_FLOOR=0`" in str(caught.value)
