"""Conditions on works."""

import pytest

from schemas.errors import Refused
from schemas.values.documents import WorkFilter, conditions_of
from stages.corpora.works import work_filter


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], WorkFilter()),
        (["author=A. Leaf"], WorkFilter(author="A. Leaf")),
        ([" title = green tea "], WorkFilter(title="green tea")),
        (["tag=a=b"], WorkFilter(tag="a=b")),
        (["year=2001"], WorkFilter(year_from=2001, year_to=2001)),
        (["year>=2001", "year<2010"], WorkFilter(year_from=2001, year_to=2009)),
        (["year>2000", "year <= -5"], None),
        (["year>-300"], WorkFilter(year_from=-299)),
    ],
)
def test_conditions_make_one_filter(conditions: list[str], expected: WorkFilter | None) -> None:
    if expected is None:
        with pytest.raises(Refused, match="no year is from 2001 to -5"):
            work_filter(conditions)
        return
    assert work_filter(conditions) == expected
    assert work_filter(conditions_of(expected.given)) == expected


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        (["autor=Leaf"], r"no field 'autor'.*author, title, tag, year.*Did you mean 'author'\?"),
        (["author"], "are written like author=Leaf"),
        ([""], "are written like author=Leaf"),
        (["author>=Leaf"], "`author` is compared by =, as in author=tea"),
        (["year=soon"], "A year is a whole number"),
        (["year>=99999"], "A year is a whole number"),
        (["author="], "cannot be filtered by this author"),
        (["title=" + "x" * 201], "cannot be filtered by this title"),
        (["author=a", "author=b"], "`author` twice"),
        (["year=2001", "year>=1999"], "`year from` twice"),
        (["year>9999"], "cannot be filtered by this year from"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(conditions: list[str], problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        work_filter(conditions)
