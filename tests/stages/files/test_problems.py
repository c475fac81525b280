import pytest

from schemas.values.interviews import FileProblem
from stages.files.problems import Parsed, ProblemsFound, accept

FIRST = FileProblem(file="a.csv", line=3, found="is odd", what_to_do="make it even")
SECOND = FileProblem(file="b.csv", line=None, found="is not UTF-8", what_to_do="save it as UTF-8")


def test_what_has_no_problem_is_accepted() -> None:
    assert accept(Parsed(7)) == 7


def test_a_refusal_lists_every_problem() -> None:
    with pytest.raises(ProblemsFound) as refusal:
        accept(Parsed(7, (FIRST, SECOND)))
    assert refusal.value.problems == (FIRST, SECOND)
    assert str(refusal.value) == (
        "The data set has 2 problems; nothing was imported.\n"
        "  a.csv:3: is odd; make it even\n"
        "  b.csv: is not UTF-8; save it as UTF-8"
    )


def test_of_a_million_problems_the_first_are_listed() -> None:
    with pytest.raises(ProblemsFound) as refusal:
        accept(Parsed(7, (FIRST,) * 1_000_000))
    assert len(str(refusal.value).splitlines()) == 22
    assert str(refusal.value).endswith("  a.csv:3: is odd; make it even\n  and 999980 more")
