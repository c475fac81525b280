"""How often replies had to be repaired or asked for again, and texts were cut, per stage (Spec 060)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from schemas.chains import in_order
from schemas.values.reports import StageTelemetry
from schemas.values.scored_runs import OutputTelemetry


def telemetry(outputs: Iterable[OutputTelemetry]) -> dict[str, StageTelemetry]:
    """The counts over these outputs, by stage in the order of the chain.

    They describe the outputs that count: work that a later attempt replaced has no part in them.
    """
    by_stage: dict[str, list[OutputTelemetry]] = {}
    for output in outputs:
        by_stage.setdefault(output.stage, []).append(output)
    return {stage: _of_stage(by_stage[stage]) for stage in in_order("participant", by_stage)}


def _of_stage(outputs: Sequence[OutputTelemetry]) -> StageTelemetry:
    cut = [output.cut_texts for output in outputs if output.cut_texts is not None]
    return StageTelemetry(
        outputs=len(outputs),
        repairs=_counted(name for output in outputs for name in output.repairs),
        reasks=_counted(name for output in outputs for name in output.reasks),
        cut_texts=sum(cut) if cut else None,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
