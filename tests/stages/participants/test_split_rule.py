import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import Refused
from stages.participants.splits import Labelled, stratified_split, target_sizes

COHORT = [Labelled(300 + place, (place * 7) % 20, place % 2) for place in range(142)]


def test_a_cohort_of_the_papers_size_is_split_as_the_paper_is() -> None:
    parts = stratified_split(COHORT, seed=1)

    assert {part: len(ids) for part, ids in parts.items()} == {"train": 58, "val": 43, "test": 41}
    assert sorted(number for ids in parts.values() for number in ids) == [person.participant_id for person in COHORT]


def test_totals_and_genders_are_spread_evenly() -> None:
    by_id = {person.participant_id: person for person in COHORT}
    for ids in stratified_split(COHORT, seed=3).values():
        assert abs(sum(by_id[number].gender == 0 for number in ids) - len(ids) / 2) <= 1
        assert 8.5 <= sum(by_id[number].total for number in ids) / len(ids) <= 10.5


def test_too_few_with_a_total_in_common_are_refused() -> None:
    with pytest.raises(Refused, match="leaves no participant for val and test: 3 participants"):
        stratified_split([Labelled(number, number, 0) for number in (1, 2, 3)], seed=1)


@given(
    st.lists(st.tuples(st.integers(0, 24), st.sampled_from([0, 1, None])), min_size=1, max_size=200),
    st.integers(0, 2**32),
)
def test_everybody_is_in_exactly_one_part(people: list[tuple[int, int | None]], seed: int) -> None:
    labelled = [Labelled(number, total, gender) for number, (total, gender) in enumerate(people, start=1)]
    try:
        parts = stratified_split(labelled, seed=seed)
    except Refused:
        return
    assert sorted(number for ids in parts.values() for number in ids) == list(range(1, len(people) + 1))
    totals = [total for total, _ in people]
    if all(totals.count(total) > 2 for total in totals):
        assert {part: len(ids) for part, ids in parts.items()} == target_sizes(len(people))
