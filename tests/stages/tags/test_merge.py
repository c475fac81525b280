"""Merging the lists of phrases."""

from schemas.values.tags import Candidate
from stages.tags.merge import merge
from tests.stages.tags.builders import seen


def test_each_score_is_the_best_of_its_own() -> None:
    first = seen("a", 0.2, count=7).model_copy(update={"score_fasttext": 0.9, "score_context": -0.5})
    second = seen("a", 0.4, count=7).model_copy(update={"score_fasttext": 0.5, "score_context": None})

    assert merge([("one", [first]), ("two", [second])], global_k=1) == (
        Candidate(tag="a", score_combined=0.4, score_fasttext=0.9, score_context=-0.5, count=7, sources=("one", "two")),
    )


def test_without_any_context_score_there_is_none() -> None:
    (merged,) = merge([("one", [seen("a", 0.2)]), ("two", [seen("a", 0.3)])], global_k=9)

    assert merged.score_context is None


def test_nothing_to_merge_gives_nothing() -> None:
    assert merge([], global_k=1) == merge([("one", [])], global_k=1) == ()
