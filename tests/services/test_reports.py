"""The page of a report, its plots, and which runs can be compared."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from schemas.errors import Refused
from services.comparisons import compared
from services.plots import plots_of
from services.reports import report_page
from stages.reports.report import build_report
from tests.stages.reports.builders import FEW, FEW_SHOT, failed, job, run, scores
from tests.stages.reports.query_builders import query_run

HOSTILE = "<script>alert(1)</script>"

REPORT = build_report(
    run(
        job(1, 316, scores("1023", "3122", "5134"), "1032"),
        job(2, 319, scores("2", "2", "3"), "0"),
        job(3, 316, scores("10", "31", "51"), "1032", mode=FEW_SHOT),
        job(4, 319, None, "0", mode=FEW_SHOT),
        failures=[failed(4, 319, mode=FEW_SHOT, message=HOSTILE)],
        settings={"MODEL_JUDGE_MODEL": HOSTILE, "MODEL_QUANTITATIVE_MODEL": ""},
        profile="demo",
    ),
    measures=FEW,
)


class Page(HTMLParser):
    """The words of a page; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open += [] if tag in {"meta", "br", "hr", "img", "input", "link"} else [tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """It is not open."""

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_the_page_is_well_formed_loads_nothing_and_has_no_text_of_a_subject() -> None:
    text = report_page(REPORT)
    page = Page(text)

    assert text.count("<svg") == 3
    ids = re.findall(r"\sid=([\"'].*?[\"'])", text)
    assert ids and len(ids) == len(set(ids))
    for words in ("Risk over coverage, with its 95 % band", "MODEL_JUDGE_MODEL", "scoring_llm_timeout", "empty"):
        assert words in page.words
    assert re.findall(r"https?:|//[a-z]|src=|@import|<link|<script", text) == []
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    # Where nothing is resampled it says so, and has no bounds.
    assert "2 evaluated participants: too few for an interval" in text
    assert re.findall(r"\[-?\d+\.\d+, -?\d+\.\d+\]", text) == []
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 3
    assert not [words for words in (HOSTILE, "words of a participant", "why that is") if words in text]


def test_a_run_that_scored_nobody_has_a_page_too() -> None:
    nobody = build_report(run(job(1, 316, None, "0"), failures=[failed(1, 316)]), measures=FEW)

    text = report_page(nobody)

    assert (text.count("<svg"), "N/A" in Page(text).words) == (0, True)


def test_every_plot_names_the_modes_and_calibration_its_line_too() -> None:
    words = {one.kind: re.findall(r"<text[^>]*>([^<]*)</text>", one.on_page()) for one in plots_of(REPORT)}

    assert list(words) == ["risk", "items", "calibration"]
    assert all("zero-shot" in of_plot for of_plot in words.values())
    assert "perfect" in words["calibration"]


ASKED = query_run(run_id=2)
SCORED = run(job(1, 316, scores("1"), "1"), run_id=1)
FEW_SHOT_ALONE = run(job(2, 316, scores("1"), "1", mode=FEW_SHOT), run_id=3)


def test_what_cannot_be_compared_is_refused() -> None:
    cases: list[tuple[list[Any], dict[str, Any], str]] = [
        ([SCORED, ASKED], {}, "are of several kinds"),
        ([SCORED], {}, "takes 2 to 50 runs"),
        ([SCORED, FEW_SHOT_ALONE], {}, "r1 has zero_shot, r3 has few_shot; choose a mode of each"),
        ([SCORED, SCORED], {"mode": "few_shot"}, "Run r1 has no jobs in mode few_shot; it has zero_shot"),
        ([SCORED, SCORED], {"other_mode": "few_shot"}, "Choose the mode of the first run too"),
        ([ASKED, ASKED], {"mode": "few_shot"}, "goes with runs of participants"),
        ([ASKED, ASKED], {"measures": {"loss": "abs"}}, "Runs of queries have no loss"),
        ([SCORED, SCORED], {"measures": {"cutoff": 5}}, "Runs of participants have no cutoff"),
    ]
    for runs, asked, words in cases:
        with pytest.raises(Refused, match=words):
            compared(runs, **({"measures": {}} | asked))
