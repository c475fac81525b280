"""The gate of `ragq diff --fail-if`: how often it fails without a difference, and with one it says it can see."""

from collections.abc import Callable
from typing import Final

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.common import show, show_machine
from schemas.values.differences import ComparedMeasure, ComparedRun, Comparison, GateOutcome, RetrievalMeasures, Verdict
from stages.metrics.bootstrap import mean_intervals
from stages.reports.comparison_sheet import condition
from stages.reports.comparison_sheet import gate as decide
from stages.reports.words import number, percent

SUBJECTS: Final = (10, 20, 41, 100, 300)

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

#: Differences of one subject in two runs, with mean 0 and standard deviation 1.
SHAPES: Final[dict[str, Draw]] = {
    "normal": lambda generator, n: generator.normal(size=n),
    "mostly none": lambda generator, n: generator.normal(size=n) * (generator.random(n) < 0.2) / np.sqrt(0.2),
    "skewed": lambda generator, n: generator.exponential(size=n) - 1,
}


@click.command(short_help="How often the gate of two runs fails, with and without a difference")
@click.option("--pairs", default=1000, show_default=True, help="Drawn pairs of runs of each kind.")
@click.option("--seed", default=7, show_default=True)
def gate(pairs: int, seed: int) -> None:
    """Draw pairs of runs with a known difference, and let the gate decide each with its defaults.

    \b
    Example:
        python -m benchmarks gate --pairs 200
    """
    show_machine("numpy")
    generator = np.random.default_rng(seed)
    rows = []
    for shape, draw in SHAPES.items():
        for subjects in SUBJECTS:
            same = [_verdict(draw(generator, subjects)) for _ in range(pairs)]
            seen_from = float(np.median([one.seen_from or 0.0 for one in same]))
            other = [_verdict(draw(generator, subjects) + seen_from) for _ in range(pairs)]
            rows.append((shape, subjects, _failing(same), number(seen_from), _failing(other)))
    columns = ("differences", "subjects", "fails without one, %", "said to be seen from", "fails with that one, %")
    show(f"{pairs} pairs of runs each, `ndcg@10 increases`", columns, rows)


def _verdict(differences: NDArray[np.float64]) -> Verdict:
    (delta,) = mean_intervals(differences[:, None].tolist(), RetrievalMeasures(), columns=1)
    measure = ComparedMeasure(subjects=len(differences), baseline=0.0, value=delta.value, delta=delta, corrected=delta)
    run = ComparedRun(run_id="r2", subjects=len(differences), measures={"fused": {"ndcg@10": measure}}, failed=0)
    found = Comparison(
        kind="query",
        mode=None,
        runs=("r1", "r2"),
        headline="fused",
        measured="ndcg@10 of fused",
        settings={},
        notices={},
        origins={},
        compared=(run,),
        movements=(),
    )
    return decide([found], [condition("ndcg@10 increases")])[0]


def _failing(verdicts: list[Verdict]) -> str:
    return percent(sum(one.outcome is GateOutcome.FAILED for one in verdicts) / len(verdicts))
