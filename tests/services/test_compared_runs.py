"""Which runs can be compared."""

import pytest

from schemas.errors import Refused
from schemas.values.queries import QueryRun
from schemas.values.runs import ScoredRun
from services.several_runs import compare_scores
from tests.stages.reports.builders import run
from tests.stages.reports.query_builders import query_run

SCORED, ASKED = run(run_id=1), query_run(run_id=2)


@pytest.mark.parametrize(("left", "right"), [(SCORED, ASKED), (ASKED, SCORED)])
def test_runs_of_two_kinds_cannot_be_compared(left: ScoredRun | QueryRun, right: ScoredRun | QueryRun) -> None:
    with pytest.raises(Refused, match="are of two kinds"):
        compare_scores(left, right, measures={})
