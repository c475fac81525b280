"""The gate decides by the paired interval, and says what it could not have seen."""

from collections.abc import Sequence

import pytest

from schemas.errors import Refused
from schemas.values.differences import Comparison, Gate
from schemas.values.estimates import RunWork, StageCalls
from stages.reports.comparison import RunInMode, compare_queries, compare_scores
from stages.reports.comparison_sheet import condition, gate, gate_words
from tests.stages.reports.builders import CHOSEN, ZERO_SHOT, job, run, scores
from tests.stages.reports.query_builders import FEW_DRAWS, both_legs, query, query_run


def compared(right: Sequence[str], truth: str = "0") -> Comparison:
    """Against a run with an error of 1 for every second participant; participant by participant what the right has."""
    before = run(*(job(one, 300 + one, scores(str(one % 2)), truth) for one in range(len(right))), run_id=12)
    after = run(*(job(one, 300 + one, scores(score) if score else None, truth) for one, score in enumerate(right)))
    return compare_scores([RunInMode(before, ZERO_SHOT), RunInMode(after, ZERO_SHOT)], chosen=CHOSEN)


def decided(found: Comparison, *words: str) -> Gate:
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
    (verdict,) = decided(found, words).verdicts

    assert verdict.outcome == outcome
    assert decided(found, words).passed is (outcome == "passed")


@pytest.mark.parametrize(("right", "outcome"), [(500, "failed"), (100, "passed")])
def test_cost_is_the_tokens_of_the_calls_for_a_subject_whoever_paid(right: int, outcome: str) -> None:
    def calls(paid: int, *saved: int) -> tuple[StageCalls, ...]:
        return tuple(
            StageCalls(
                job_id=job_id,
                stage="score",
                model="m",
                paid=1,
                reused=1,
                uncounted=0,
                prompt_tokens=paid,
                reply_tokens=10,
                seconds=1.0,
                saved_prompt_tokens=reused,
                saved_reply_tokens=0,
                saved_seconds=0.0,
            )
            for job_id, reused in enumerate(saved)
        )

    jobs = [job(one, 300 + one, scores("1"), "0") for one in range(12)]
    cheap = run(*jobs, run_id=12).model_copy(update={"work": RunWork(stages=(), calls=calls(90, *[0] * 12))})
    dear = run(*jobs).model_copy(
        update={"work": RunWork(stages=(), calls=calls(40, *(right - 50 + one for one in range(12))))}
    )
    found = compare_scores([RunInMode(cheap, ZERO_SHOT), RunInMode(dear, ZERO_SHOT)], chosen=CHOSEN)

    (verdict,) = decided(found, "cost increases by more than 50").verdicts
    tokens = found.compared[0].measures["zero_shot"]["tokens"]
    assert (tokens.baseline, tokens.value) == (100, right + 5.5)
    assert (verdict.outcome, verdict.of, verdict.subjects) == (outcome, "zero_shot", 12)

    asked = [query(f"q{one}", {}, both_legs([11], [11], [11]), job_id=one) for one in range(12)]
    of_queries = [
        query_run(*asked, work=RunWork(stages=(), calls=calls(paid, *[0] * 12)), run_id=paid) for paid in (90, right)
    ]
    queries = gate([compare_queries(of_queries, measures=FEW_DRAWS)], [condition("cost increases by more than 50")])
    assert [one.outcome for one in queries.verdicts] == [outcome]


def test_a_difference_alone_decides_nothing_and_its_smallest_visible_size_is_said() -> None:
    (verdict,) = decided(NOISY, "mae increases by more than .01").verdicts

    assert verdict.delta.value is not None and verdict.delta.value > 0.01
    assert verdict.delta.std is not None and verdict.seen_from == pytest.approx(0.01 + 2.80158 * verdict.delta.std)
    assert f"{verdict.seen_from:.3f}" in verdict.why


def test_every_condition_must_pass() -> None:
    found = decided(WORSE, "coverage decreases", "mae increases")

    assert ([one.outcome for one in found.verdicts], found.passed) == (["passed", "failed"], False)


def test_participants_that_failed_in_one_run_alone_are_said() -> None:
    found = decided(compared(["0", "1"] * 9 + ["0", ""]), "mae increases")

    assert (found.baseline_failed_alone, found.failed_alone) == (0, 1)
    assert list(gate_words(found))[-1].startswith("1 failed in the second run alone")


JUDGED = [str(place) for place in range(12)]
GOOD = query_run(*(query(key, {"d1": 1}, both_legs([11], [21, 11], [11])) for key in JUDGED))
BAD = query_run(*(query(key, {"d1": 1}, both_legs([11], [11, 21], [21, 11])) for key in JUDGED), run_id=15)


@pytest.mark.parametrize(
    ("words", "of", "outcome"),
    [
        ("ndcg@10 decreases", "fused", "failed"),
        ("dense ndcg@10 decreases", "dense", "passed"),
        ("lexical ndcg@10 increases", "lexical", "failed"),
    ],
)
def test_queries_are_judged_by_their_last_ranking_unless_another_is_named(words: str, of: str, outcome: str) -> None:
    found = gate([compare_queries([GOOD, BAD], measures=FEW_DRAWS)], [condition(words)])

    assert [(one.of, one.outcome, one.subjects) for one in found.verdicts] == [(of, outcome, 12)]


@pytest.mark.parametrize(
    "words", ["", "mae", "mae rises", "mae increases by .1", "mae increases by more than .", "a b c increases"]
)
def test_other_words_are_no_condition(words: str) -> None:
    with pytest.raises(Refused, match="mae increases"):
        condition(words)


@pytest.mark.parametrize(
    ("words", "said"),
    [("mea increases", "Did you mean 'mae'"), ("few_shot mae increases", "zero_shot"), ("ndcg@10 decreases", "cmax")],
)
def test_what_is_not_compared_is_refused_with_what_is(words: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        decided(SAME, words)
