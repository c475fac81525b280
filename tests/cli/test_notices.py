"""What restricts the results of a run is printed with them, by every command that shows them."""

from html import unescape
from pathlib import Path

from tests.cli.conftest import Ragq, Stored
from tests.store.noticed import NOTICES, noticed_run

FEW = ("--bootstrap-resamples", "2")


COMMANDS = [
    ("show", "r1"),
    ("watch", "r1"),
    ("report", "r1", *FEW),
    ("report", "r1", "--json", *FEW),
    ("report", "r1", "--html", "page.html", *FEW),
    *(("report", "r1", f"--{form}", *FEW) for form in ("latex", "markdown", "csv")),
    *(("diff", "r1", "r1", f"--{form}", *FEW) for form in ("latex", "markdown", "csv")),
    ("runs", "--csv"),
    ("runs", "--json"),
    ("diff", "r1", "r1", *FEW),
    ("diff", "r1", "r1", "--json", *FEW),
]


def test_every_notice_stands_with_the_results(ragq: Ragq, stored: Stored) -> None:
    assert stored(noticed_run) == 1
    for command in COMMANDS:
        done = ragq(*command)

        printed = Path("page.html").read_text() if "--html" in command else done.stdout
        # LaTeX escapes underscores.
        shown = " ".join(unescape(printed).replace("\\_", "_").split())
        assert (command, done.exit_code, [notice for notice in NOTICES if notice not in shown]) == (command, 0, [])
