"""Reports as tables for a paper."""

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cli.sheets import as_latex, as_markdown
from cli.sheets import latex_escaped as latex
from stages.reports.tables import Table
from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20", "--coverage-grid", "0.1")
HOSTILE = "50 % of a_b & c | {x} \\end{table} <i>$1$</i> [y](z) `k` ~ ^ #\nnext"


async def a_run(connection: Connection) -> int:
    """Two participants in one mode and one in the other, and one that failed."""
    await import_labels(connection, {316: labels("10"), 319: labels("2"), 330: labels("0")})
    return await store_scored_run(
        connection,
        {
            ("zero_shot", 316): scores("11", "21"),
            ("zero_shot", 319): scores("2", "1"),
            ("zero_shot", 330): TIMED_OUT,
            ("few_shot", 316): scores("10", "21"),
        },
    )


@pytest.fixture
def run(stored: Stored) -> str:
    return f"r{stored(a_run)}"


def rows_of(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(written), strict=True))


def number(cell: str) -> float | None:
    """A number as JSON has it: neither NaN nor infinity."""
    found: float | None = json.loads(cell or "null", parse_constant=pytest.fail)
    return found


def test_csv_has_one_number_a_row_with_the_notices_of_its_run(ragq: Ragq, run: str) -> None:
    report = json.loads(ragq("report", run, "--json", *FEW).stdout)
    rows = rows_of(ragq("report", run, "--csv", *FEW).stdout)

    for experiment in report["experiments"]:
        results, chosen = experiment["results"], experiment["selective_prediction"]["chosen"]
        mode = results["mode"]
        of_mode = {(row["table"], row["row"], row["column"]): row for row in rows}
        expected = {
            ("Results", "MAE weighted", mode): results["intervals"]["item_mae_weighted"],
            ("Results", "AURC", mode): chosen["aurc"],
            ("Selective risk", "0.1", mode): chosen["risk_at_coverage"]["0.1"]["risk"],
        }
        expected |= {
            ("Mean absolute error per item", name, mode): item["mae_interval"]
            for name, item in results["per_item"].items()
        }
        for key, interval in expected.items():
            found = tuple(number(of_mode[key][name]) for name in ("value", "low", "high", "standard_error"))
            assert (key, found) == (key, tuple(interval[name] for name in ("value", "low", "high", "std")))
        assert of_mode["Results", "evaluated participants", mode]["value"] == str(results["evaluated_subjects"])
    assert not {"Participants", "All 0 settings"} & {row["table"] for row in rows}
    notices = " ".join((*report["run_metadata"]["notices"], "zero_shot: 1 failed (in no mean error)."))
    assert {row["notices"] for row in rows} == {notices}


def test_tables_are_written_to_a_file(ragq: Ragq, run: str) -> None:
    printed = ragq("report", run, "--csv", *FEW).stdout_bytes
    done = ragq("report", run, "--csv", "--output", "numbers.csv", *FEW)

    assert (done.stdout, done.stderr) == ("", "Wrote numbers.csv.\n")
    assert Path("numbers.csv").read_bytes() == printed


def test_hostile_text_stays_text() -> None:
    table = Table(HOSTILE, (HOSTILE, "a"), ((HOSTILE, "-1"),), (HOSTILE,))

    written, shown = as_latex([table]), MarkdownIt().enable("table").render(as_markdown([table]))

    assert (written.count(r"\end{table}"), written.count(r"\end{tabular}")) == (1, 1)
    assert re.findall(r"(?<!\\)[%#]", written) == []
    assert written.count("\n") == len(written.splitlines()) == 10
    assert shown.count("<tr>") == 2
    assert "<i>" not in shown and "<a" not in shown and "<code>" not in shown
    assert shown.count("50 % of a_b &amp; c | {x} \\end{table} &lt;i&gt;$1$&lt;/i&gt; [y](z) `k` ~ ^ # next") == 4


@given(st.text(alphabet="abc 1-&%$#_{}\\~^<>|[]\n"))
def test_braces_balance_and_specials_are_escaped_in_latex(text: str) -> None:
    written = latex(text)

    bare = re.sub(r"\\[&%$#_{}]", "", written)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"[&%#_]", bare) == []
    assert bare.count("$") % 2 == 0
