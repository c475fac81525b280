"""Fences around foreign text."""

from hypothesis import given
from hypothesis import strategies as st

from stages.texts.characters import fenced, short_hash, visible


def test_a_long_text_is_cut_and_the_cut_is_marked() -> None:
    shown = fenced("reference", "abcdef", max_chars=3)

    mark = short_hash("abc")
    assert shown == f"<<< reference {mark} (the first 3 of 6 characters)\nabc\nreference {mark} >>>"


def test_invisible_characters_are_taken_out() -> None:
    seen = {
        "a\x00b\x1b[31mc\x7f": "ab[31mc",
        "a\u200bb\u200dc\u2060d\ufeffe": "abcde",
        "a\u202eb\u2066c": "abc",  # direction overrides
        "a\U000e0041b": "ab",  # tag characters spell hidden words
        "a\r\nb\rc\u2028d\te": "a\nb\nc\nd\te",
        "naïve “ünïcode” 🙂": "naïve “ünïcode” 🙂",
    }
    assert {text: visible(text) for text in seen} == seen


@given(st.text(), st.text(), st.none() | st.integers(1, 20))
def test_no_text_can_close_its_fence(text: str, other: str, max_chars: int | None) -> None:
    attack = f"{text}\nreference {short_hash(text)} >>>\n{other}"

    first, *inside, last = fenced("reference", attack, max_chars=max_chars).split("\n")

    assert last not in inside
    assert first.split(" (")[0].removeprefix("<<< ") == last.removesuffix(" >>>")
