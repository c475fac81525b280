"""Answers as HTML."""

import pytest

from api.pages.answers import answer_html


def test_a_cited_source_becomes_a_link_to_it_others_are_marked_and_code_cites_nothing() -> None:
    shown = answer_html("So it is [S1, S9].", ["S1"])
    assert 'href="#source-S1"' in shown
    assert '<span class="cite-unknown">S9 (not in the prompt)</span>' in shown
    assert "source-S1" not in answer_html("`[S1]`\n\n```\n[S1]\n```", ["S1"])
    external = answer_html("[a](https://elsewhere.example/?a=1&b=2)", [])
    assert 'href="https://elsewhere.example/?a=1&amp;b=2"' in external
    assert 'rel="noreferrer noopener nofollow"' in external


@pytest.mark.parametrize(
    "answer",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://elsewhere.example/x.png)",
        '![x](x.png "onerror=alert(1)")',
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html,<script>alert(1)</script>)",
        "[a](vbscript:x)",
        "[a](&#106;avascript:alert(1))",
        "<javascript:alert(1)>",
        "<svg><script>alert(1)</script></svg>",
        "[a](/runs/1)",
        "[a](//elsewhere.example)",
        "[a](#main)",
        "<a href='https://elsewhere.example' onclick='alert(1)'>a</a>",
        "<style>*{display:none}</style>",
    ],
)
def test_an_answer_runs_no_script_loads_nothing_and_links_nowhere_in_ragq(answer: str) -> None:
    shown = answer_html(answer, ["S1"])

    for element in ("<script", "<img", "<svg", "<style", "<iframe", ' href="'):
        assert element not in shown
