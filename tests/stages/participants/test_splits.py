"""Splits: the published ones, the rule that draws others, their files and what is wrong with one."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import Refused
from schemas.values.participants import Person, PHQ8Item, Split
from stages.participants.splits import (
    MAKE_SPLITS,
    PUBLISHED,
    PUBLISHED_IDS,
    PUBLISHED_SPLITS,
    first_index,
    ids_hash,
    named_splits,
    parse_listed_splits,
    parse_split,
    sources,
    split_problems,
    stratified_split,
    target_sizes,
)


def test_ids_that_are_no_numbers_or_repeat_are_problems() -> None:
    parsed = parse_split(b"Participant_ID\n1\n1_P\n1\n", file="a.csv", name="paper-train")
    assert [str(problem) for problem in parsed.problems] == [
        "a.csv:3: Participant_ID: Input should be a valid integer, unable to parse string as an integer; "
        "write participants' numbers",
        "a.csv:4: has the id of line 2; keep one of the two",
    ]


SIZES = {"train": 58, "val": 43, "test": 41}
COHORT = [Person(id=300 + place, phq8_score=(place * 7) % 20, gender=place % 2) for place in range(142)]


def test_a_cohort_of_the_papers_size_is_split_as_the_paper_is_with_totals_and_genders_spread_evenly() -> None:
    parts, by_id = stratified_split(COHORT, seed=3), {person.id: person for person in COHORT}

    assert {part: len(ids) for part, ids in parts.items()} == SIZES
    assert sorted(number for ids in parts.values() for number in ids) == list(by_id)
    for ids in parts.values():
        assert abs(sum(by_id[number].gender == 0 for number in ids) - len(ids) / 2) <= 1
        assert 8.5 <= sum(by_id[number].phq8_score or 0 for number in ids) / len(ids) <= 10.5


def test_too_few_with_a_total_in_common_are_refused() -> None:
    with pytest.raises(Refused, match="leaves no participant for val and test: 3 participants"):
        stratified_split([Person(id=number, phq8_score=number, gender=0) for number in (1, 2, 3)], seed=1)


@given(
    st.lists(st.tuples(st.integers(0, 24), st.sampled_from([0, 1, None])), min_size=1, max_size=200),
    st.integers(0, 2**32),
)
def test_everybody_is_in_exactly_one_part(people: list[tuple[int, int | None]], seed: int) -> None:
    labelled = [Person(id=at, phq8_score=total, gender=of) for at, (total, of) in enumerate(people, start=1)]
    try:
        parts = stratified_split(labelled, seed=seed)
    except Refused:
        return
    assert sorted(number for ids in parts.values() for number in ids) == list(range(1, len(people) + 1))
    totals = [total for total, _ in people]
    if all(totals.count(total) > 2 for total in totals):
        assert {part: len(ids) for part, ids in parts.items()} == target_sizes(len(people))


RIGHT = Person(id=303, gender=0, phq8_binary=0, phq8_score=8, items=dict.fromkeys(PHQ8Item, 1))
EVERYBODY = dict.fromkeys(PUBLISHED_IDS, RIGHT)


def split(name: str, ids: Iterable[int], *, made_by: str = "its file") -> Split:
    numbers = tuple(ids)
    return Split(
        data_set="data",
        name=name,
        called=name,
        participant_ids=numbers,
        csv_hash="c",
        ids_hash=ids_hash(numbers),
        made_by=made_by,
        imported_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


PAPER = [split(f"paper-{part}", ids, made_by=PUBLISHED) for part, ids in PUBLISHED_SPLITS.items()]


def found(splits: list[Split], people: Mapping[int, Person] = EVERYBODY) -> list[str]:
    problems = split_problems(splits, people)
    return [f"{name}: {problem.rpartition('; ')[0]}" for name, wrong in problems.items() for problem in wrong]


def test_what_is_wrong_with_splits_is_named() -> None:
    people = {number: labels for number, labels in EVERYBODY.items() if number != 303}
    people[316] = RIGHT.model_copy(update={"items": None})
    paper = [
        split(name, ids, made_by="listed in x") for name, ids in (("paper-train", [303, 304]), ("paper-test", [304]))
    ]
    ids = (*PUBLISHED_SPLITS["test"][1:], 303)

    assert found(PAPER, people) == [
        "paper-train: participant 303 not stored (no transcript)",
        "paper-test: participant 316 without item labels, in no metric",
    ]
    assert found([*paper, split("train", [303]), split("dev", [303])]) == [
        "paper-train: participant 304 also in paper-test",
        "train: participant 303 also in dev",
    ]
    assert found([split("paper-test", ids)]) == [
        "paper-test: lacks published participant 316; has unpublished participant 303"
    ]
    # Others than the published are declared.
    assert found([split("paper-test", ids, made_by="the paper's rule, seed 7")]) == []


def test_a_csv_lists_splits_in_its_order_and_the_published_ones_are_disjoint() -> None:
    parsed = parse_listed_splits(b"Participant_ID,split\n304,pilot\n303, pilot \n303,rest\n", file="ids")

    assert parsed.problems == ()
    assert {split.name: split.participant_ids for split in parsed.value} == {"pilot": (304, 303), "rest": (303,)}
    assert {part: len(ids) for part, ids in PUBLISHED_SPLITS.items()} == SIZES
    assert len(set(PUBLISHED_IDS)) == 142
    assert all(list(ids) == sorted(ids) for ids in PUBLISHED_SPLITS.values())


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "ids:1: lacks the columns Participant_ID, split"),
        (b"Participant_ID,split\n", "ids: lists no participant"),
        (b"Participant_ID,split\n3O3,pilot\n", "ids:2: Participant_ID: Input should be a valid integer"),
        (b"Participant_ID,split\n0,pilot\n", "ids:2: Participant_ID: Input should be greater than or equal to 1"),
        (b"Participant_ID,split\n303,\n", "ids:2: split: is no name of a split of one's own"),
        (b"Participant_ID,split\n303,paper\n", "ids:2: split: is no name of a split of one's own"),
        (b"Participant_ID,split\n303,pilot\n303,pilot\n", "ids:3: has the id of line 2"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(data: bytes, found: str) -> None:
    assert str(parse_listed_splits(data, file="ids").problems[0]).startswith(found)


def test_a_name_stands_for_the_splits_of_every_data_set_unless_it_names_one() -> None:
    clinic = split("train", [1]).model_copy(update={"data_set": "clinic", "called": "clinic/train"})
    other = split("train", [2]).model_copy(update={"data_set": "other", "called": "other/train"})
    assert named_splits([clinic, other], "clinic/avec-train") == [clinic]
    assert named_splits([clinic, other], "train") == [clinic, other]


def test_sources_of_references_are_named_as_such_likely_ones_first() -> None:
    stored = [split(name, [1]) for name in ("mine", "paper-test", "train", "our-train")]
    assert [one.called for one in sources(stored)] == ["avec-train", "our-train", "mine"]
    assert first_index(stored) == "`ragq index references --split avec-train --wait` builds one."
    assert first_index([split("test", [1])]) == MAKE_SPLITS
