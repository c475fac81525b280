"""References that repeat a better one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputChangedError
from schemas.values.participants import Reference
from stages.participants.chunking import window_starts
from stages.participants.deduplicate import by_lines, by_place
from tests.stages.participants.builders import reference


def window(ordinal: int, *, participant: int = 302) -> Reference:
    return reference(chunk_id=ordinal + 1).model_copy(update={"participant_id": participant, "ordinal": ordinal})


def references_to(*texts: str) -> tuple[list[Reference], dict[int, str]]:
    """References to these texts, each of another participant, and the texts."""
    return [reference(text, chunk_id=at) for at, text in enumerate(texts)], dict(enumerate(texts))


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


def test_windows_of_two_participants_never_repeat_by_place() -> None:
    assert not by_place(size=8, step=2)(window(4), window(4, participant=303))


@pytest.mark.parametrize(
    ("first", "second", "repeats"),
    [
        ("a\nb\nc\nd", "b\nc\nd\ne", True),  # 3 of 4
        ("a\nb\nc\nd", "c\nd\ne\nf", False),  # 2 of 4
        ("a\nb\nc\nd", "a", True),  # the longer contains the shorter
        (" a \n\nb", "a\nb\n", True),
        ("a", "b", False),
        ("", "a", False),
    ],
)
def test_texts_repeat_when_they_share_more_than_half_of_the_shorter(first: str, second: str, repeats: bool) -> None:
    references, texts = references_to(first, second)

    assert by_lines(texts)(references[0], references[1]) is repeats


def test_a_text_that_changed_is_not_compared() -> None:
    references, texts = references_to("a", "b")

    with pytest.raises(InputChangedError):
        by_lines(texts | {1: "changed"})(references[0], references[1])


@given(
    lines=st.integers(8, 60),
    size=st.integers(2, 8),
    step=st.integers(1, 8),
    chosen=st.tuples(st.integers(), st.integers()),
)
def test_place_and_text_agree_on_whole_windows(lines: int, size: int, step: int, chosen: tuple[int, int]) -> None:
    starts = [start for start in window_starts(lines, size=size, step=min(step, size)) if start % min(step, size) == 0]
    ordinals = [number % len(starts) for number in chosen]
    texts = {at + 1: "\n".join(str(line) for line in range(start, start + size)) for at, start in enumerate(starts)}
    first, second = (
        reference(texts[at + 1], chunk_id=at + 1).model_copy(update={"participant_id": 302, "ordinal": at})
        for at in ordinals
    )

    assert by_place(size=size, step=min(step, size))(first, second) == by_lines(texts)(first, second)
