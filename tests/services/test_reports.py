"""The page of a report, its plots, which runs can be compared, and forks at every point of a grid."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from schemas.errors import Refused
from schemas.values.runs import Target
from services.forks import fork_each, grid_points
from services.plots import plots_of
from services.reports import compare, compared, report_page
from stages.reports.report import build_report
from store.database import Connection, Database
from store.runs import forks
from tests.refusals import refused
from tests.stages.reports.builders import FEW, FEW_SHOT, failed, job, labels, run, scores
from tests.stages.reports.query_builders import query_run
from tests.store.scored import finish, forkable_run, import_labels

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


def words_of(page: str) -> list[str]:
    """Fails where tags do not nest."""
    closed = re.sub(r"<(?:!doctype|meta|br|hr|img|input|link)\b[^>]*>|xlink:", "", page)
    return [text.strip() for text in ElementTree.fromstring(closed).itertext()]


def test_the_page_is_well_formed_loads_nothing_and_has_no_text_of_a_subject() -> None:
    text = report_page(REPORT)
    found = words_of(text)

    assert text.count("<svg") == 3
    ids = re.findall(r"\sid=([\"'].*?[\"'])", text)
    assert ids and len(ids) == len(set(ids))
    for words in ("Risk over coverage, with 95 % intervals", "scoring_llm_timeout"):
        assert words in found
    assert re.findall(r"https?:|//[a-z]|src=|@import|<link|<script", text) == []
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    # Where nothing is resampled it says so, and has no bounds.
    assert "2 evaluated participants: too few for an interval" in text
    assert re.findall(r"\[-?\d+\.\d+, -?\d+\.\d+\]", text) == []
    assert "MODEL_JUDGE_MODEL=&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not [words for words in (HOSTILE, "words of a participant", "why that is") if words in text]


def test_a_run_that_scored_nobody_has_a_page_too() -> None:
    nobody = build_report(run(job(1, 316, None, "0"), failures=[failed(1, 316)]), measures=FEW)

    text = report_page(nobody)

    assert (text.count("<svg"), "N/A" in words_of(text)) == (0, True)


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


PEOPLE = (316, 319, 320, 321)
TRUTH = {person: labels("22222222") for person in PEOPLE}


def test_a_grid_has_every_combination_once() -> None:
    assert grid_points({"A": ["1", "2", "1"], "B": ["x", "y"]}) == [{"A": a, "B": b} for a in "12" for b in "xy"]


async def forked(database: Database, parent: int, **grid: list[str]) -> list[int]:
    return [one.run_id for one in await fork_each(database, Target(parent, None), "score", grid_points(grid))]


async def test_a_grid_of_forks_is_one_table_of_paired_differences(database: Database) -> None:
    """A parent whose items are 1 off, and two forks: one exact, the other 2 off."""
    async with database.connection() as connection:
        await import_labels(connection, TRUTH)
        parent = (await forkable_run(connection, dict.fromkeys(PEOPLE, scores("33333333")))).run_id
    runs = await forked(database, parent, RAGQ_SCORE_TEXT_CHARS=["10", "20"])
    async with database.connection() as connection:
        for run_id, digits in zip(runs, ("22222222", "00000000"), strict=True):
            for job in await forks.parent_jobs(connection, run_id):
                await finish(connection, job.id, ("score",), scores(digits))
    exact, far = runs

    (result,) = await compare(database, [parent, *runs])

    assert result.runs == (f"r{parent}", f"r{exact}", f"r{far}")
    assert result.settings == {"RAGQ_SCORE_TEXT_CHARS": (80, 10, 20)}
    errors = [run.measures["zero_shot"]["item_mae_weighted"] for run in result.compared]
    assert [(one.baseline, one.value, one.delta.value) for one in errors] == [(1.0, 0.0, -1.0), (1.0, 2.0, 1.0)]
    assert len(result.movements) == len(PEOPLE) * 8
    assert result.movements[0].values == (3.0, 2.0, 0.0)
    # One that is repeated takes the forks that are stored.
    again = await forked(database, parent, RAGQ_SCORE_TEXT_CHARS=["10", "20", "30"])
    assert (again[:2], len(again)) == ([exact, far], 3)


async def test_no_fork_is_stored_when_a_point_cannot_be(database: Database, connection: Connection) -> None:
    parent = (await forkable_run(connection, {316: scores("1")})).run_id

    with refused("fork-refused"):
        await forked(database, parent, RAGQ_SCORE_TEXT_CHARS=["10"], RAGQ_SCORE_INPUT=["transcript"])

    assert await connection.fetchval("SELECT count(*) FROM run") == 1
