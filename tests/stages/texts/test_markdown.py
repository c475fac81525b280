"""Paragraphs that are too long for their markup to be read."""

from stages.texts.markdown import commonmark


def test_a_paragraph_of_the_longest_length_has_markup_and_a_longer_one_is_text() -> None:
    longest = "*a*" + 9_997 * "b"

    assert commonmark().render(longest).startswith("<p><em>a</em>b")
    assert commonmark().render(longest + "b").startswith("<p>*a*b")


def test_the_paragraphs_beside_a_long_one_have_markup() -> None:
    assert commonmark().render(f"*a*\n\n{10_001 * 'b'}\n\n*c*").endswith("</p>\n<p><em>c</em></p>\n")
