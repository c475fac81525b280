"""Which runs can be compared."""

from typing import Any

import pytest

from schemas.errors import Refused
from services.comparisons import compared
from tests.stages.reports.builders import FEW_SHOT, job, run, scores
from tests.stages.reports.query_builders import query_run

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
