import pytest

from schemas.errors import Refused
from schemas.values.participants import DataSet
from stages.participants.splits import ids_hash, parse_split, resolve_split, split_of


def data_set(**ids: list[int]) -> DataSet:
    names = {name: name.replace("_", "-") for name in ids}
    splits = {names[name]: split_of(names[name], ids[name], data=name.encode()) for name in ids}
    return DataSet(transcripts={}, labels={}, splits=splits)


def test_ids_that_are_no_numbers_or_repeat_are_problems() -> None:
    parsed = parse_split(b"Participant_ID\n1\n1_P\n1\n", file="a.csv", name="paper-train")
    assert [str(problem) for problem in parsed.problems] == [
        "a.csv:3: Participant_ID is not a whole number; write the participant's number",
        "a.csv:4: participant 1 is already in line 2; keep one of them",
    ]


def test_the_hash_of_ids_does_not_depend_on_their_order() -> None:
    assert ids_hash([2, 3, 1]) == ids_hash([1, 2, 3]) == "8a6ae1512200"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("train", (5, 1)),
        ("dev", (4, 2)),
        ("train+dev", (5, 1, 4, 2)),
        ("paper", (3,)),
        ("paper-test", (3,)),
        ("paper-train", (1,)),
        ("paper-val", (2,)),
    ],
)
def test_every_name_of_the_runner_is_a_split(name: str, ids: tuple[int, ...]) -> None:
    whole = data_set(train=[5, 1], dev=[4, 2], paper_train=[1], paper_val=[2], paper_test=[3])
    assert resolve_split(name, whole).participant_ids == ids


@pytest.mark.parametrize(
    ("whole", "names"), [(data_set(train=[1], paper_test=[2]), "paper, paper-test, train"), (data_set(), "none")]
)
def test_an_unknown_split_is_refused_with_the_names_that_are_there(whole: DataSet, names: str) -> None:
    with pytest.raises(Refused) as refusal:
        resolve_split("test", whole)
    assert str(refusal.value) == (
        f"Split 'test' is not in this data set. It has {names}; name one, or import the split's file."
    )
