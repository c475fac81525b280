"""Runs compared with the first of them; and the gate, which decides by the paired interval."""

from collections.abc import Sequence
from math import log2
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.differences import Comparison, Verdict
from schemas.values.participants import AssessmentMode
from schemas.values.queries import QueryRun
from schemas.values.runs import ScoredRun
from stages.reports.comparison import compare_queries, compare_scores
from stages.reports.comparison_sheet import comparison_sheet, condition, gate, passed
from stages.reports.tables import Remark, Table
from tests.stages.reports.builders import CHOSEN, FEW_SHOT, ZERO_SHOT, job, paying, run, scores
from tests.stages.reports.query_builders import FEW_DRAWS, both_legs, query, query_run

LEFT = run(
    job(1, 316, scores("10"), "11"),
    job(2, 319, scores("2-"), "01"),
    job(3, 330, None, "0"),
    job(4, 339, scores("1"), "1"),
    job(5, 345, None, "0", status=JobStatus.RUNNING),
    run_id=12,
    settings={"MODEL_TEMPERATURE": 0.0, "LLM_BACKEND": "ollama"},
)
RIGHT = run(
    job(1, 316, scores("1-"), "11"),
    job(2, 319, scores("01"), "01"),
    job(3, 330, scores("0"), "0"),
    job(5, 345, scores("0"), "0"),
    job(6, 357, scores("3"), "3"),
    run_id=15,
    settings={"MODEL_TEMPERATURE": 0.5, "LLM_BACKEND": "ollama", "RAGQ_RETRIES": 2},
)


def of_scores(*runs: ScoredRun, modes: Sequence[AssessmentMode] = (ZERO_SHOT, ZERO_SHOT)) -> Comparison:
    return compare_scores([*zip(runs, modes, strict=True)], chosen=CHOSEN)


FOUND = of_scores(LEFT, RIGHT)
(OTHER,) = FOUND.compared


def test_differences_are_taken_over_the_participants_that_both_scored_and_the_others_are_named() -> None:
    # 316: errors 0 1, then 0; 319: error 2, then 0 0. Left 3 / 3, right 0 / 3.
    measures = OTHER.measures["zero_shot"]
    mae, cmax = measures["item_mae_weighted"], measures["cmax"]

    assert (mae.subjects, mae.baseline, mae.value, mae.delta.value) == (2, 1.0, 0.0, -1.0)
    assert mae.corrected == mae.delta
    assert (FOUND.runs, OTHER.subjects, cmax.baseline, cmax.value) == (("r12", "r15"), 2, 3 / 16, 3 / 16)
    assert "aurc" in measures
    assert (OTHER.baseline_failed_alone, OTHER.failed_alone) == (("330",), ())
    assert (OTHER.missing, OTHER.only_here) == (("339",), ("357",))
    assert FOUND.settings == {"MODEL_TEMPERATURE": (0.0, 0.5), "RAGQ_RETRIES": (None, 2)}


def test_every_item_that_changed_is_named() -> None:
    assert {(one.subject, one.item, one.values, one.truth) for one in FOUND.movements} == {
        ("316", "Depressed", (0, None), 1),
        ("319", "NoInterest", (2, 0), 0),
        ("319", "Depressed", (None, 1), 1),
    }
    sheet = comparison_sheet(FOUND)
    (moved,) = (table for table in sheet.tables if table.is_listing)
    assert ("319", "NoInterest", 0, "2", "0") in [(*row[:3], *map(str, row[3:])) for row in moved.rows]
    assert "Items: 1 lost, 1 gained, 1 changed." in [one.words for one in sheet.parts if not isinstance(one, Table)]


def test_two_modes_of_one_run_can_be_compared() -> None:
    one = run(job(1, 316, scores("1"), "3"), job(2, 316, scores("2"), "3", mode=FEW_SHOT))

    found = of_scores(one, one, modes=(ZERO_SHOT, FEW_SHOT))

    assert (found.mode, found.headline, found.settings) == ("zero_shot", "few_shot", {})
    assert found.compared[0].measures["few_shot"]["item_mae_weighted"].delta.value == pytest.approx(-1)
    assert comparison_sheet(found).title == "r12 few_shot - r12 zero_shot"


ASKED = query_run(
    query("a", {"d1": 1}, both_legs([21, 11], [11], [21, 11])),
    query("b", {"d2": 1}, both_legs([21], [11], [21])),
    query("c", {"d1": 1}),
    query("d", {"d1": 1}, both_legs([11], [11], [11])),
    query("e", {"d1": 1}, both_legs([11], [11], [11])),
    settings={"retrieval.fusion": "rrf", "retrieval.rrf_k": 50},
)
ASKED_AGAIN = query_run(
    query("b", {"d2": 1}, both_legs([21], [11], [21])),
    query("a", {"d1": 1}, both_legs([21, 11], [11], [11, 21])),
    query("c", {"d1": 1}, both_legs([11], [11], [11])),
    query("d", {"d1": 0, "d3": 1}, both_legs([11], [11], [11])),
    query("f", {"d1": 1}, both_legs([11], [11], [11])),
    settings={"retrieval.fusion": "zscore", "retrieval.rrf_k": 50},
    run_id=15,
)


def of_queries(*runs: QueryRun) -> Comparison:
    return compare_queries(runs, measures=FEW_DRAWS)


def test_rankings_are_compared_on_the_queries_of_both_and_those_that_moved_are_named() -> None:
    found = of_queries(ASKED, ASKED_AGAIN)
    (other,) = found.compared

    ndcg = other.measures["fused"]["ndcg@10"]
    assert (found.runs, found.headline, other.subjects, ndcg.subjects) == (("r12", "r15"), "fused", 4, 2)
    assert (ndcg.baseline, ndcg.value) == pytest.approx(((1 / log2(3) + 1) / 2, 1.0))
    assert ndcg.delta.value == pytest.approx((1 - 1 / log2(3)) / 2)
    assert other.measures["dense"]["ndcg@10"].delta.high == 0.0
    assert (other.unlike_judgements, other.missing, other.only_here) == (1, ("e",), ("f",))
    assert Remark("Common queries judged otherwise, in no difference: 1.") in comparison_sheet(found).parts
    assert found.measured == "ndcg@10 of fused"
    assert [(one.subject, one.values[1]) for one in found.movements] == [("a", 1.0)]


def test_passages_that_both_have_are_counted_by_document_and_line_without_judgements() -> None:
    copied = query_run(
        query("x", {}, both_legs([31], [31], [31, 32])),
        query("b", {}, both_legs([41], [42], [41])),
        query("c", {}, both_legs([], [], [])),
        documents={31: "d", 32: "d", 41: "e", 42: "e"},
        lines={31: 1, 32: 5, 41: 1, 42: 2},
    )
    other = query_run(
        query("x", {}, both_legs([71], [71], [71, 72])),
        query("b", {}, both_legs([81], [81], [82])),
        query("c", {}, both_legs([], [], [])),
        documents={71: "d", 72: "d", 81: "e", 82: "e"},
        lines={71: 1, 72: 6, 81: 1, 82: 1},
    )

    (compared,) = of_queries(copied, other).compared
    shares = {of: found["overlap"].value for of, found in compared.measures.items() if "overlap" in found}
    assert shares == pytest.approx({"dense": 1.0, "lexical": 2 / 3, "fused": 5 / 6})


def judged(*fused: Sequence[int], lexical: Sequence[int] = (11,), run_id: int = 15) -> QueryRun:
    """Twelve queries, which chunk 11 answers, with these fused rankings in turn."""
    places = range(12)
    found = [both_legs([11], lexical, fused[place % len(fused)]) for place in places]
    return query_run(*(query(str(place), {"d1": 1}, found[place]) for place in places), run_id=run_id)


GOOD = judged([11], lexical=[21, 11], run_id=12)


def test_several_runs_have_intervals_that_are_corrected_for_their_number() -> None:
    found = of_queries(GOOD, *(judged([21, 11], [11], run_id=run_id) for run_id in (13, 14, 15)))
    one = found.compared[0].measures["fused"]["ndcg@10"]

    assert len(found.compared) == 3
    assert one.corrected.low is not None and one.delta.low is not None and one.corrected.low < one.delta.low
    assert [table.caption for table in comparison_sheet(found).tables][:2] == ["ndcg@10", "recall@10"]


def compared(right: Sequence[str], truth: str = "0") -> Comparison:
    """Against a run with an error of 1 for every second participant; participant by participant what the right has."""
    before = run(*(job(one, 300 + one, scores(str(one % 2)), truth) for one in range(len(right))), run_id=12)
    after = run(*(job(one, 300 + one, scores(score) if score else None, truth) for one, score in enumerate(right)))
    return of_scores(before, after)


def decided(found: Comparison, *words: str) -> list[Verdict]:
    return gate([found], [condition(one) for one in words])


WORSE = compared(["1", "2"] * 10)
NOISY = compared(["1", "0", "0", "1", "0", "2"] * 3)
SAME = compared(["0", "1"] * 10)


@pytest.mark.parametrize(
    ("found", "words", "outcome"),
    [
        (WORSE, "mae increases", "failed"),
        (WORSE, "zero_shot item_mae_weighted  INCREASES by more than .5", "failed"),
        (WORSE, "mae increases by more than 1", "passed"),
        (WORSE, "mae decreases", "passed"),
        (NOISY, "mae increases", "passed"),
        (SAME, "mae increases", "passed"),
        (compared(["1", "2"]), "mae increases", "undecided"),
    ],
)
def test_a_condition_is_met_when_the_whole_interval_is_beyond_its_margin(
    found: Comparison, words: str, outcome: str
) -> None:
    (verdict,) = decided(found, words)

    assert verdict.outcome == outcome
    assert passed([verdict]) is (outcome == "passed")


@pytest.mark.parametrize(("right", "outcome"), [(500, "failed"), (100, "passed")])
def test_cost_is_the_tokens_of_the_calls_for_a_subject_whoever_paid(right: int, outcome: str) -> None:
    def calls(paid: int, *saved: int) -> dict[str, Any]:
        tokens = [{"prompt_tokens": paid, "reply_tokens": 10, "saved_prompt_tokens": reused} for reused in saved]
        found = [paying(job_id).model_copy(update=of_job) for job_id, of_job in enumerate(tokens)]
        return {"calls": tuple(found)}

    jobs = [job(one, 300 + one, scores("1"), "0") for one in range(12)]
    cheap = run(*jobs, run_id=12).model_copy(update=calls(90, *[0] * 12))
    dear = run(*jobs).model_copy(update=calls(40, *(right - 50 + one for one in range(12))))
    found = of_scores(cheap, dear)

    (verdict,) = decided(found, "cost increases by more than 50")
    tokens = found.compared[0].measures["zero_shot"]["tokens"]
    assert (tokens.baseline, tokens.value) == (100, right + 5.5)
    assert (verdict.outcome, verdict.of, verdict.subjects) == (outcome, "zero_shot", 12)

    asked = [query(f"q{one}", {}, both_legs([11], [11], [11]), job_id=one) for one in range(12)]
    of_runs = [query_run(*asked, run_id=paid, **calls(paid, *[0] * 12)) for paid in (90, right)]
    (verdict,) = decided(of_queries(*of_runs), "cost increases by more than 50")
    assert verdict.outcome == outcome


def test_every_condition_must_pass_and_a_difference_alone_decides_nothing() -> None:
    both = decided(WORSE, "coverage decreases", "mae increases")
    (verdict,) = decided(NOISY, "mae increases by more than .01")

    assert ([one.outcome for one in both], passed(both)) == (["passed", "failed"], False)
    assert verdict.delta.value is not None and verdict.delta.value > 0.01
    # The smallest difference that could have been seen is said.
    assert verdict.delta.std is not None and verdict.seen_from == pytest.approx(0.01 + 2.80158 * verdict.delta.std)
    assert f"{verdict.seen_from:.3f}" in verdict.why


@pytest.mark.parametrize(
    ("words", "of", "outcome"),
    [
        ("ndcg@10 decreases", "fused", "failed"),
        ("dense ndcg@10 decreases", "dense", "passed"),
        ("lexical ndcg@10 increases", "lexical", "failed"),
    ],
)
def test_queries_are_judged_by_their_last_ranking_unless_another_is_named(words: str, of: str, outcome: str) -> None:
    (verdict,) = decided(of_queries(GOOD, judged([21, 11], lexical=[11, 21])), words)

    assert (verdict.of, verdict.outcome, verdict.subjects) == (of, outcome, 12)


def test_other_words_are_no_condition_and_what_is_not_compared_is_refused_with_what_is() -> None:
    examples = ("", "mae", "mae rises", "mae increases by .1", "a b c increases", "mae increases by more than .")
    cases = [
        *((words, "`mae increases`") for words in examples),
        *(
            ("mea increases", "Did you mean 'mae'"),
            ("few_shot mae increases", "zero_shot"),
            ("ndcg@10 decreases", "cmax"),
        ),
    ]
    for words, said in cases:
        with pytest.raises(Refused, match=said):
            decided(SAME, words)
