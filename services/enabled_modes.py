"""The modes that a submission of participants may have, by ENABLE_FEW_SHOT and RAGQ_SCORER."""

from dataclasses import replace

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.values.phq8 import AssessmentMode
from services.participants import ParticipantRequest


def in_enabled_modes(request: ParticipantRequest, settings: EffectiveSettings) -> ParticipantRequest:
    """The request, in zero-shot mode alone with ENABLE_FEW_SHOT=false, in few-shot alone with RAGQ_SCORER=neighbours.

    Raises Refused when that leaves it no mode.
    """
    if settings.run.ragq.scorer == "neighbours":
        if AssessmentMode.FEW_SHOT not in request.modes:
            raise Refused(
                "RAGQ_SCORER=neighbours scores by the participants of a reference index, so it has no zero-shot mode; "
                "reports have the median of the training split beside it. Submit without --zero-shot-only, or with "
                "--set RAGQ_SCORER=model and a language model."
            )
        request = replace(request, modes=(AssessmentMode.FEW_SHOT,))
    if settings.run.evaluation.enable_few_shot:
        return request
    if AssessmentMode.ZERO_SHOT not in request.modes:
        raise Refused(
            f"ENABLE_FEW_SHOT=false ({settings.sources['ENABLE_FEW_SHOT']}) leaves a few-shot submission no mode; "
            "--set ENABLE_FEW_SHOT=true enables it."
        )
    return replace(request, modes=(AssessmentMode.ZERO_SHOT,))
