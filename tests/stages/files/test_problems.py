import pytest

from schemas.values.participants import FileProblem
from stages.files.records import Parsed, ProblemsFound, accept

FIRST = FileProblem(file="a.csv", line=3, found="is odd", what_to_do="make it even")


def test_of_a_million_problems_the_first_are_listed() -> None:
    with pytest.raises(ProblemsFound) as refusal:
        accept(Parsed(7, (FIRST,) * 1_000_000))
    assert len(str(refusal.value).splitlines()) == 22
    assert str(refusal.value).endswith("  a.csv:3: is odd; make it even\n  and 999980 more")
