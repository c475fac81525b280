"""All numbers of one risk-coverage curve."""

from collections.abc import Sequence

from stages.metrics.achievable import area_under_hull
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.confidence import Confidence
from stages.metrics.draws import Draws
from stages.metrics.oracle import augrc_optimal, aurc_optimal
from stages.metrics.selective import (
    Loss,
    area_under_generalized_risk,
    area_under_selective_risk,
    risks_reaching,
    steps,
)


def curve_metrics(
    cohort: Cohort,
    draws: Draws,
    *,
    confidence: Confidence,
    loss: Loss = Loss.ABS_NORM,
    up_to: float = 1.0,
    coverages: Sequence[float] = (),
) -> dict[str, Floats]:
    """The areas, of which the truncated ones end at `up_to`, and the risks at ascending coverages, named `0.25`.

    The excess is the area above the optimal one: that of AURC can be slightly negative for ties, that of AUGRC only by
    rounding.
    """
    curve = steps(cohort, draws, confidences=cohort.of_items(confidence), loss=loss)
    aurc, augrc = area_under_selective_risk(curve), area_under_generalized_risk(curve)
    best_aurc, best_augrc = aurc_optimal(cohort, draws, loss=loss), augrc_optimal(cohort, draws, loss=loss)
    return {
        "aurc": aurc,
        "aurc_optimal": best_aurc,
        "aurc_achievable": area_under_hull(curve),
        "excess_aurc": aurc - best_aurc,
        "aurc_truncated": area_under_selective_risk(curve, up_to=up_to),
        "augrc": augrc,
        "augrc_optimal": best_augrc,
        "excess_augrc": augrc - best_augrc,
        "augrc_truncated": area_under_generalized_risk(curve, up_to=up_to),
        **dict(zip(map("{:g}".format, coverages), risks_reaching(curve, coverages), strict=True)),
    }
