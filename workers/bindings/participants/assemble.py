"""Stage `assemble`: the reference block and the scoring prompt."""

from schemas.values.participants import ValidatedReferences
from schemas.values.phq8 import AssessmentMode
from stages.participants.assemble import assemble_prompt
from workers.stage_task import define_stage
from workers.work import Result, Work


async def assemble_of_participant(work: Work) -> Result:
    """The prompt with the validated references; in zero-shot mode without any."""
    items = {}
    if work.claim.mode == AssessmentMode.FEW_SHOT:
        items = (await work.output("validate", ValidatedReferences)).items
    return Result(
        assemble_prompt(
            (await work.transcript()).text,
            items,
            await work.chunk_texts(items),
            severity_mode=work.settings.quantitative.severity_inference_mode,
        )
    )


define_stage("assemble", participant=assemble_of_participant)
