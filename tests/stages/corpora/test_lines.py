from hypothesis import given
from hypothesis import strategies as st

from stages.corpora.lines import lines_of, passage


def test_only_line_ends_end_lines() -> None:
    assert lines_of("a\u2028b\x0bc\r\nd\re\n\n") == ["a\u2028b\x0bc", "d", "e", ""]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n")), min_size=1))
def test_all_lines_together_are_the_work(lines: list[str]) -> None:
    markdown = "".join(f"{line}\n" for line in lines)

    assert passage(lines_of(markdown), 1, len(lines)) + "\n" == markdown
