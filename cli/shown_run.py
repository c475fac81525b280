"""What `ragq show`, `ragq watch` and `ragq submit --wait` print of a run."""

from cli.cost_lines import cost_lines
from cli.output import draw, print_json
from cli.run_table import run_details, run_table
from cli.score_table import score_table
from schemas.values.costs import RunCost
from schemas.values.score_tables import ScoreTable
from store.runs.run_view import RunView


def print_run(
    view: RunView, scores: ScoreTable | None, cost: RunCost | None = None, *, as_json: bool, details: bool = False
) -> None:
    """Print a run, the scores of participants, and with `details` its settings and its origin."""
    if as_json:
        print_json(run_json(view, scores) | ({} if cost is None else {"cost": cost}))
        return
    draw(run_table(view))
    if scores is not None:
        draw("", score_table(scores))
    if cost is not None:
        draw("", cost_lines(cost))
    if details:
        draw(run_details(view))


def run_json(view: RunView, scores: ScoreTable | None) -> dict[str, object]:
    """The run as JSON shows it: `scores` is null where no job scores a participant."""
    return {**vars(view), "scores": scores}
