"""The labels that an answer cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.queries.templates import Citations, citations

LABELS = ["S1", "S2", "S3", "S12"]


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        ("It darkens [S1].", ("S1",)),
        ("Both [S2][S1] say so, [S2] twice.", ("S2", "S1")),
        ("Both [S1, S3] and [S2;S12].", ("S1", "S3", "S2", "S12")),
        ("**Bold [S1]** and _italic [S2]_.", ("S1", "S2")),
        ("## Sources Used\n\n- [S1] Tea\n- [S3]: Bridges", ("S1", "S3")),
        ("[S1]: http://example.org\n[S2]: Tea", ("S1", "S2")),
        ("See [S1](http://example.org).", ("S1",)),
        ("| a | b |\n|---|---|\n| x [S1] | y [S2] |", ("S1", "S2")),
        ("> quoted [S1]\n\n1. one\n   - two [S2]\n\n        deep [S3]", ("S1", "S2", "S3")),
        ("over two\nlines [S1]", ("S1",)),
        ("<b>[S1]</b>", ("S1",)),
        ("", ()),
    ],
)
def test_labels_are_found_in_order_each_once(answer: str, known: tuple[str, ...]) -> None:
    assert citations(answer, LABELS) == Citations(known, ())


@pytest.mark.parametrize(
    "answer",
    [
        "[S12a] [S1-] [S] [S 1] [XS1] [S01] [S0] S1 (S1) [s1]",
        "`[S1]` and ``a ` [S2]``",
        "```\n[S1]\n```",
        "~~~python\nx = [S1]\n~~~",
        "- item\n  ```\n  [S1]\n  ```",
        "```\nnever closed [S1]",
    ],
)
def test_code_and_what_only_looks_like_a_label_cite_nothing(answer: str) -> None:
    assert citations(answer, LABELS) == Citations((), ())


def test_labels_that_the_prompt_does_not_have_are_unknown() -> None:
    assert citations("One [S1], two [S9], three [S4, S2].", LABELS) == Citations(("S1", "S2"), ("S9", "S4"))


@given(st.lists(st.sampled_from(LABELS), max_size=5))
def test_every_label_in_running_text_is_found(labels: list[str]) -> None:
    answer = " and ".join(f"a fact [{label}]" for label in labels)

    assert citations(answer, LABELS).known == tuple(dict.fromkeys(labels))
