"""All numbers of one risk-coverage curve."""

from collections.abc import Sequence
from functools import partial

from stages.metrics.achievable import area_under_hull
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.confidence import Confidence
from stages.metrics.draws import Draws
from stages.metrics.oracle import augrc_optimal, aurc_optimal
from stages.metrics.selective import Areas, Loss, population, risks_reaching, steps


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
    curve = partial(steps, cohort, draws, confidences=cohort.of_items(confidence), loss=loss)
    everything = population(draws)
    whole, truncated = Areas(everything), Areas(everything, up_to=up_to)
    for step in curve():
        whole.add(step)
        truncated.add(step)
    best_aurc, best_augrc = aurc_optimal(cohort, draws, loss=loss), augrc_optimal(cohort, draws, loss=loss)
    return {
        "aurc": whole.aurc(),
        "aurc_optimal": best_aurc,
        "aurc_achievable": area_under_hull(curve(), everything),
        "excess_aurc": whole.aurc() - best_aurc,
        "aurc_truncated": truncated.aurc(),
        "augrc": whole.augrc(),
        "augrc_optimal": best_augrc,
        "excess_augrc": whole.augrc() - best_augrc,
        "augrc_truncated": truncated.augrc(),
        **dict(zip(map("{:g}".format, coverages), risks_reaching(curve(), everything, coverages), strict=True)),
    }
