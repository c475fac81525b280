"""Totals and their bounds."""

import pytest

from schemas.values.scoring import Severity
from stages.participants.score_reply import severity_of, totals_of


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1] * 8, (8, 8, Severity.MILD, Severity.MILD, Severity.MILD)),
        ([1] * 7 + [None], (7, 10, Severity.MILD, Severity.MODERATE, None)),
        ([0] * 7 + [None], (0, 3, Severity.MINIMAL, Severity.MINIMAL, Severity.MINIMAL)),
        ([3] * 7 + [None], (21, 24, Severity.SEVERE, Severity.SEVERE, Severity.SEVERE)),
        ([None] * 8, (0, 24, Severity.MINIMAL, Severity.SEVERE, None)),
    ],
)
def test_every_na_is_a_0_in_the_lower_bound_and_a_3_in_the_upper(
    scores: list[int | None], expected: tuple[object, ...]
) -> None:
    assert tuple(totals_of(scores).model_dump().values()) == expected


def test_a_severity_is_a_band_of_five() -> None:
    assert [severity_of(total) for total in range(25)] == [band for band in Severity for _ in range(5)]


@pytest.mark.parametrize("total", [-1, 25])
def test_a_total_outside_0_and_24_has_no_severity(total: int) -> None:
    with pytest.raises(ValueError, match=rf"is 0\.\.24, not {total}"):
        severity_of(total)
