"""The page of a report."""

import re
from html.parser import HTMLParser

from schemas.values.reports import Report
from services.reports import report_page
from stages.reports.report import build_report
from tests.stages.reports.builders import FEW, FEW_SHOT, failed, job, run, scores

HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Parses a page, and fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def report(profile: str = "demo") -> Report:
    return build_report(
        run(
            job(1, 316, scores("1023", "3122", "5134"), "1032"),
            job(2, 319, scores("2", "2", "3"), "0"),
            job(3, 316, scores("10", "31", "51"), "1032", mode=FEW_SHOT),
            job(4, 319, None, "0", mode=FEW_SHOT),
            failures=[failed(4, 319, mode=FEW_SHOT, message=HOSTILE)],
            settings={"MODEL_JUDGE_MODEL": HOSTILE, "MODEL_QUANTITATIVE_MODEL": ""},
            profile=profile,
        ),
        measures=FEW,
    )


def test_the_page_is_well_formed_and_draws_every_plot() -> None:
    page = Page(report_page(report()))

    assert page.tags.count("svg") == 3
    assert len(page.ids) == len(set(page.ids))
    for words in ("Risk over coverage, with its 95 % band", "MODEL_JUDGE_MODEL", "scoring_llm_timeout", "empty"):
        assert words in page.words


def test_the_page_loads_nothing() -> None:
    text = report_page(report())

    assert re.findall(r"https?:|//[a-z]|src=|@import|<link|<script", text) == []
    assert set(re.findall(r"url\((.)", text)) <= {"#"}


def test_where_nothing_is_resampled_the_page_says_so_and_has_no_bounds() -> None:
    text = report_page(report())

    assert "2 evaluated participants: too few for an interval" in text
    assert re.findall(r"\[-?\d+\.\d+, -?\d+\.\d+\]", text) == []


def test_hostile_text_is_shown_and_not_run() -> None:
    text = report_page(report())

    assert HOSTILE not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 3


def test_no_text_of_a_subject_is_on_the_page() -> None:
    text = report_page(report())

    assert "words of a participant" not in text
    assert "why that is" not in text


def test_a_run_that_scored_nobody_has_a_page_too() -> None:
    nobody = build_report(run(job(1, 316, None, "0"), failures=[failed(1, 316)]), measures=FEW)

    page = Page(report_page(nobody))

    assert page.tags.count("svg") == 0
    assert "N/A" in page.words
