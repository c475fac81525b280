"""The headings above a passage."""

import pytest

from stages.queries.consolidate import breadcrumb_chain, nearest_heading
from tests.stages.queries.builders import by_id, chunk

PARENTS = by_id(
    chunk(1, "# Tea #\n\nLeaves.", level="H1"),
    chunk(2, "no heading", level="H2", parent_id=1, breadcrumbs="Tea > Colour"),
    chunk(3, "#\n", level="H3", parent_id=2),
    chunk(4, "", level="H3", parent_id=77),
)


@pytest.mark.parametrize(("parent_id", "chain"), [(2, ("Tea", "Colour")), (1, ()), (77, ()), (None, ())])
def test_breadcrumbs_are_the_chain(parent_id: int | None, chain: tuple[str, ...]) -> None:
    assert breadcrumb_chain(parent_id, PARENTS) == chain


@pytest.mark.parametrize(
    ("parent_id", "heading"), [(1, "Tea"), (2, "Tea"), (3, "Tea"), (4, None), (77, None), (None, None)]
)
def test_parents_are_walked_until_one_begins_with_a_heading(parent_id: int | None, heading: str | None) -> None:
    assert nearest_heading(parent_id, PARENTS) == heading
