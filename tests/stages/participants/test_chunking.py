"""Windows of lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.participants.chunking import window_starts
from tests.stages.at_defaults import chunk_transcript


@pytest.mark.parametrize(
    ("lines", "starts"),
    [
        (0, []),
        (1, [0]),
        (8, [0]),
        (9, [0, 1]),  # 9 - 8 = 1 is no multiple of 2: a last window from 1
        (10, [0, 2]),  # 10 - 8 = 2 is one
        (13, [0, 2, 4, 5]),  # 13 - 8 = 5
    ],
)
def test_windows_of_eight_every_two_reach_the_end(lines: int, starts: list[int]) -> None:
    assert window_starts(lines, size=8, step=2) == starts


@pytest.mark.parametrize(("size", "step"), [(1, 1), (8, 0), (8, 9)])
def test_windows_that_lose_lines_are_refused(size: int, step: int) -> None:
    with pytest.raises(ValueError, match=f"Windows of {size} lines every {step} are not possible"):
        window_starts(20, size=size, step=step)


def test_short_chunks_and_empty_texts_give_none() -> None:
    assert (chunk_transcript(" mhm \n hm ", size=2, step=1, min_chars=9), chunk_transcript("\n\n")) == ((), ())


@given(st.integers(1, 60), st.integers(2, 12), st.data())
def test_every_line_is_in_some_window(lines: int, size: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(1, size))

    covered = {start + at for start in window_starts(lines, size=size, step=step) for at in range(size)}

    assert covered >= set(range(lines))
