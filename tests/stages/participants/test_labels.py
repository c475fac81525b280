import pytest

from schemas.values.participants import FileProblem, Labels, PHQ8Item
from stages.files.records import Parsed
from stages.participants.daic_woz import parse_gender_labels, parse_item_labels

HEADER = "Participant_ID,PHQ8_Binary,PHQ8_Score,Gender," + ",".join(item.evidence_key for item in PHQ8Item) + "\n"
ITEMS = dict(zip(PHQ8Item, (1, 2, 2, 3, 1, 0, 1, 0), strict=True))  # adds up to 10


def read(*rows: str, patch: bool = False) -> Parsed[tuple[Labels, ...]]:
    return parse_item_labels((HEADER + "\n".join(rows)).encode(), file="train.csv", patch_missing_items=patch)


def found(problems: tuple[FileProblem, ...]) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.found) for problem in problems]


def test_a_row_gives_all_labels_of_a_participant() -> None:
    labels = Labels(participant_id=303, gender=0, phq8_binary=True, phq8_score=10, items=ITEMS)
    assert read("303,1,10,0,1,2,2,3,1,0,1,0") == Parsed((labels,))


def test_a_patched_item_is_marked() -> None:
    labels = Labels(participant_id=319, gender=0, phq8_binary=True, phq8_score=10, items=ITEMS, patched=PHQ8Item.SLEEP)
    assert read("319,1,10,0,1,2,,3,1,0,1,0", patch=True) == Parsed((labels,))


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("319,1,10,0,1,2,,,1,0,1,0", "2 items are missing; only a single one can be computed."),
        ("319,1,16,0,1,2,,3,1,0,1,0", "The score 16 leaves 8 for PHQ8_Sleep, which is not in 0..3."),
        ("319,0,7,0,1,2,,3,1,0,1,0", "The score 7 leaves -1 for PHQ8_Sleep, which is not in 0..3."),
    ],
)
def test_what_cannot_be_rebuilt_stays_a_problem(row: str, what: str) -> None:
    assert found(read(row, patch=True).problems) == [(2, f"item cells are blank and cannot be computed: {what}")]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("303,1,11,0,1,2,2,3,1,0,1,0", "PHQ8_Score is 11 and the items add up to 10"),
        ("303,0,10,0,1,2,2,3,1,0,1,0", "PHQ8_Binary is 0 and PHQ8_Score is 10, and 1 means a score of 10 or more"),
        ("303,1,10,0,1,2,4,3,1,0,1,0", "PHQ8_Sleep is 4"),
        ("303,1,10,,1,2,2,3,1,0,1,0", "Gender is blank"),
        ("x,1,10,0,1,2,2,3,1,0,1,0", "Participant_ID is not a whole number"),
        ("303,1,10.5,0,1,2,2,3,1,0,1,0", "PHQ8_Score is not a whole number"),
    ],
)
def test_contradictory_labels_are_problems(row: str, what: str) -> None:
    assert found(read(row).problems) == [(2, what)]


def test_all_problems_of_a_file_are_reported_together() -> None:
    parsed = read("303,1,10,0,1,2,2,3,1,0,1,0", "304,2,99,0,1,2,2,3,1,0,1,9", "303,1,10,0,1,2,2,3,1,0,1,0")
    assert found(parsed.problems) == [
        (3, "PHQ8_Binary is 2"),
        (3, "PHQ8_Score is 99"),
        (3, "PHQ8_Moving is 9"),
        (4, "participant 303 is already in line 2"),
    ]


def test_a_test_file_has_a_small_p_and_gender_alone() -> None:
    data = b"participant_ID,Gender\n300,1\n"
    assert parse_gender_labels(data, file="test.csv") == Parsed((Labels(participant_id=300, gender=1),))
