import pytest

from schemas.errors import Refused
from schemas.settings.preset import ORIGINAL, PRESET_SETTINGS, Preset, preset_name

#: Of each value: the lowest, the highest, and the default.
SEED = {
    "retrieval.dense_limit": (0, 100, 19),
    "retrieval.lexical_limit": (0, 50, 5),
    "retrieval.rrf_k": (1, 100, 50),
    "retrieval.top_k_rrf": (1, 200, 75),
    "retrieval.top_n_final": (1, 50, 15),  # its page; its code has 17
    "retrieval.entity_boost": (0, 0.5, 0.05),
    "retrieval.min_word_count": (0, 1000, 150),
    "retrieval.min_char_count": (0, 5000, 250),
    "retrieval.min_content_length": (0, 5000, 750),
    "retrieval.enrich_lines_above": (0, 50, 0),
    "retrieval.enrich_lines_below": (0, 50, 13),
    "retrieval.mmr_lambda": (0, 1, 0.7),
    "retrieval.reranker_batch_size": (1, 32, 8),
    "retrieval.reranker_max_length": (128, 1024, 512),
    "consolidation.coverage_threshold": (0, 1, 0.5),
    "consolidation.line_gap": (0, 50, 7),
    "consolidation.min_content_length": (0, 5000, 350),
    "augmentation.top_n_contexts": (1, 20, 5),
    "expansion.n": (1, 10, 3),
}
COMPANIONS = {"retrieval.top_k_rrf": {"retrieval.top_n_final": 1}}
"""Other values that the ends of a range need."""


def test_the_values_of_the_original_are_those_of_the_seed() -> None:
    defaults = {name: default for name, (_, _, default) in SEED.items()}
    original = Preset().changed(ORIGINAL, origin="test").values()
    assert original.items() >= (ORIGINAL | defaults | {"consolidation.enrich_from_md": True}).items()


@pytest.mark.parametrize(("name", "low", "high"), [(name, low, high) for name, (low, high, _) in SEED.items()])
def test_ranges_are_those_of_the_seed(name: str, low: float, high: float) -> None:
    for end in (low, high):
        changed = Preset().changed({**COMPANIONS.get(name, {}), name: str(end)}, origin="test")
        assert changed.values()[name] == end
    for outside in (low - 1, high + 1, float("nan")):
        with pytest.raises(Refused, match=name):
            Preset().changed({name: outside}, origin="test")


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(Refused) as refused:
        Preset().changed(
            {"retrieval.dense_limit": "101", "retrieval.fusion": "sum", "retrieval.densse_limit": "1", "x": ""},
            origin="option",
        )

    assert str(refused.value).splitlines() == [
        "4 values of the preset cannot be used:",
        "- retrieval.densse_limit (option) is not a value of a preset; did you mean retrieval.dense_limit?",
        "- x (option) is not a value of a preset; remove it.",
        "- retrieval.dense_limit is '101' (option); allowed is a whole number from 0 to 100.",
        "- retrieval.fusion is 'sum' (option); allowed is zscore or rrf.",
        "`ragq preset show` lists every value and what it accepts.",
    ]


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a.b", "a/b", "größer", "two\nlines", "semi;colon"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Refused, match="1 to 100 characters"):
        preset_name(name)


def test_a_snapshot_has_the_source_of_each_value() -> None:
    preset = Preset().changed({"retrieval.dense_limit": "25"}, origin="option")

    snapshot = preset.snapshot("Default", options=["retrieval.dense_limit"])

    assert snapshot.keys() == PRESET_SETTINGS.keys()
    assert snapshot["retrieval.dense_limit"] == {"value": 25, "source": "option"}
    assert snapshot["retrieval.fusion"] == {"value": "zscore", "source": "preset Default"}
