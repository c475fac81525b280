"""Draws: runs of the same work whose answers are drawn anew, to measure how much results vary."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from schemas.errors import Refused
from schemas.settings.frozen import thaw
from services.new_runs import PlannedRun
from services.served_models import asked_models

MAX_SAMPLES = 20

_FRESH_FROM = 1 << 16
_FRESH_UNTIL = 1 << 31


def draws(*, fresh: bool = False, samples: int = 1) -> Sequence[int]:
    """The draws of a submission.

    The first of `samples` is the ordinary one, 0, and the others are 1, 2, ..., so that the same submission finds its
    runs again. With `fresh` each is a new number, and no run has answers to find.
    """
    if fresh:
        return [_FRESH_FROM + secrets.randbelow(_FRESH_UNTIL - _FRESH_FROM) for _ in range(samples)]
    return range(samples)


def in_draw(planned: PlannedRun, draw: int) -> PlannedRun:
    """The run in a draw. Raises Refused where it asks no language model, so that its results cannot vary."""
    if not draw:
        return planned
    if not asked_models(planned.run):
        raise Refused(
            "No stage of this run asks a language model, so that --fresh and --samples would compute the same again. "
            "Leave them out; --new forces another run."
        )
    return planned._replace(run=replace(planned.run, request={**planned.run.request, "draw": draw}))


def is_deterministic(planned: PlannedRun) -> bool:
    """Whether the run asks its models at temperature 0 alone, at which most servers repeat their answers."""
    settings = thaw(planned.run.settings).run
    if planned.run.kind == "query":
        return settings.ragq.query_temperature == 0
    return settings.model.temperature == 0 and not settings.consistency.enabled
