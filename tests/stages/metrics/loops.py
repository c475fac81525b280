"""Selective prediction counted item by item, to check the vectorised formulas."""

from collections.abc import Iterable

from sklearn.metrics import auc  # type: ignore[import-untyped]

from schemas.values.scoring import Subject

Pair = tuple[float, float]
"""A confidence and a loss."""


def curve_by_loops(pairs: Iterable[Pair], population: int) -> list[tuple[float, float, float]]:
    """Coverage, selective and generalised risk after each level of confidence, counted one by one."""
    points, taken, lost = [], 0, 0.0
    ordered = sorted(pairs, key=lambda pair: -pair[0])
    for at, (confidence, loss) in enumerate(ordered):
        taken, lost = taken + 1, lost + loss
        if at + 1 == len(ordered) or ordered[at + 1][0] != confidence:
            points.append((taken / population, lost / taken, lost / population))
    return points


def pairs_of(subjects: Iterable[Subject]) -> list[Pair]:
    return [
        (score.evidence_count, abs(score.score - one.truth[item]) / 3)
        for one in subjects
        for item, score in one.items.items()
        if score.score is not None
    ]


def areas_by_loops(points: list[tuple[float, float, float]]) -> tuple[float | None, float | None]:
    """AURC and AUGRC by another library's trapezoids; without a point neither."""
    if not points:
        return None, None
    coverage, selective, generalised = (list(column) for column in zip(*points, strict=True))
    return (float(auc([0.0, *coverage], [selective[0], *selective])), float(auc([0.0, *coverage], [0.0, *generalised])))
