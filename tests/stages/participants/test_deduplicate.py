"""References that repeat a better one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.values.participants import Reference
from stages.participants.chunking import window_starts
from stages.participants.rerank import by_place
from tests.stages.participants.builders import reference


def window(ordinal: int, *, participant: int = 302) -> Reference:
    return reference(chunk_id=ordinal + 1).model_copy(update={"participant_id": participant, "ordinal": ordinal})


@pytest.mark.parametrize(
    ("size", "step", "apart", "repeats"),
    [
        (8, 2, 1, True),  # 6 of 8 lines
        (8, 2, 2, False),  # 4 of 8, half of them
        (8, 2, 3, False),
        (8, 1, 3, True),  # 5 of 8
        (8, 8, 1, False),  # windows that do not overlap
        (2, 1, 1, False),
        (8, 2, 0, True),  # the same chunk twice
    ],
)
def test_windows_repeat_when_they_share_more_than_half(size: int, step: int, apart: int, repeats: bool) -> None:
    found = by_place(size=size, step=step)

    assert (found(window(9), window(9 + apart)), found(window(9 + apart), window(9))) == (repeats, repeats)


@given(
    lines=st.integers(8, 60),
    size=st.integers(2, 8),
    step=st.integers(1, 8),
    chosen=st.tuples(st.integers(), st.integers()),
)
def test_whole_windows_repeat_by_place_when_they_share_more_than_half_of_their_lines(
    lines: int, size: int, step: int, chosen: tuple[int, int]
) -> None:
    step = min(step, size)
    starts = [start for start in window_starts(lines, size=size, step=step) if start % step == 0]
    first, second = (number % len(starts) for number in chosen)
    shared = set(range(starts[first], starts[first] + size)) & set(range(starts[second], starts[second] + size))

    assert by_place(size=size, step=step)(window(first), window(second)) == (len(shared) > size / 2)
